//! Finds the place of each mutant in the syntax of its file.

use std::cmp::Reverse;
use std::collections::HashMap;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::{Mutant, Position};

/// The text of a file, with the bytes at which its lines start.
pub(crate) struct Text {
    pub(crate) text: String,
    lines: Vec<usize>,
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, lines }
    }

    /// The byte at a line, from 1, and a number of characters in it.
    fn byte(&self, line: usize, characters: usize) -> usize {
        let start = self.lines[line - 1];
        self.text[start..].char_indices().nth(characters).map_or(self.text.len(), |(at, _)| start + at)
    }

    fn byte_at(&self, position: &Position) -> usize {
        self.byte(position.line, position.column - 1)
    }

    fn range(&self, syntax: &impl Spanned) -> (usize, usize) {
        let byte = |at: LineColumn| self.byte(at.line, at.column);
        (byte(syntax.span().start()), byte(syntax.span().end()))
    }
}

/// A mutant and the text that it puts at its site.
pub(crate) struct Mutation {
    pub(crate) id: usize,
    pub(crate) text: String,
}

pub(crate) enum Change {
    /// The body of a function, for errors that are reported far from the mutant.
    Function,
    /// The expression has other texts.
    Expression(Vec<Mutation>),
    /// The function returns early; the site is empty and lies behind its opening brace.
    Return(Vec<Mutation>),
    /// An arm without a guard never matches; the site is empty and lies behind its pattern.
    Deletion(usize),
}

/// Bytes of the text with mutants. Sites enclose each other or are apart.
pub(crate) struct Site {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) change: Change,
}

/// Returns the sites from left to right, outer ones first, and the mutants that have none.
pub(crate) fn sites(text: &Text, mutants: Vec<Mutant>) -> syn::Result<(Vec<Site>, Vec<usize>)> {
    let mut finder = Finder { text, mutants: HashMap::new(), sites: vec![], constants: 0 };
    for mutant in mutants {
        let span = match &mutant.function {
            Some(function) if mutant.genre == "FnValue" => &function.span,
            _ => &mutant.span,
        };
        let key = (text.byte_at(&span.start), mutant.genre);
        finder.mutants.entry(key).or_default().push(Mutation { id: mutant.id, text: mutant.replacement });
    }
    finder.visit_file(&syn::parse_file(&text.text)?);
    // An empty site is never within the one that starts with it.
    finder.sites.sort_by_key(|site| (site.start, site.start != site.end, Reverse(site.end)));
    let left_out = finder.mutants.into_values().flatten().map(|mutation| mutation.id).collect();
    Ok((finder.sites, left_out))
}

struct Finder<'a> {
    text: &'a Text,
    /// The mutants without a site, by the byte where their syntax starts and their genre.
    mutants: HashMap<(usize, String), Vec<Mutation>>,
    sites: Vec<Site>,
    /// Constants around the present place. A condition at run time is impossible there.
    constants: usize,
}

impl Finder<'_> {
    /// Takes the mutants of a genre that start at a byte.
    fn take(&mut self, start: usize, genre: &str) -> Vec<Mutation> {
        if self.constants > 0 {
            return vec![];
        }
        self.mutants.remove(&(start, genre.to_owned())).unwrap_or_default()
    }

    fn add_expression(&mut self, (start, end): (usize, usize), mutations: Vec<Mutation>) {
        if !mutations.is_empty() {
            self.sites.push(Site { start, end, change: Change::Expression(mutations) });
        }
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.constants += 1;
        visit(self);
        self.constants -= 1;
    }

    fn function(&mut self, function: &impl Spanned, signature: &syn::Signature, block: &syn::Block) {
        if signature.constness.is_some() {
            return self.constant(|finder| visit::visit_block(finder, block));
        }
        let (start, end) = self.text.range(block);
        self.sites.push(Site { start, end, change: Change::Function });
        let values = self.take(self.text.range(function).0, "FnValue");
        if !values.is_empty() {
            let inside = self.text.range(&block.brace_token.span.open()).1;
            self.sites.push(Site { start: inside, end: inside, change: Change::Return(values) });
        }
        visit::visit_block(self, block);
    }
}

/// Returns true if the expression is a condition with `let`, which is no value.
fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(function, &function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(function, &function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(function, &function.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if !has_let(&binary.left) && !has_let(&binary.right) {
            let ((start, end), operator) = (self.text.range(binary), self.text.range(&binary.op));
            let mut mutations = self.take(operator.0, "BinaryOperator");
            let (left, right) = (&self.text.text[start..operator.0], &self.text.text[operator.1..end]);
            mutations
                .iter_mut()
                .for_each(|mutation| mutation.text = format!("{left}{}{right}", mutation.text));
            self.add_expression((start, end), mutations);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let ((start, end), operator) = (self.text.range(unary), self.text.range(&unary.op));
        let mut mutations = self.take(operator.0, "UnaryOperator");
        let operand = &self.text.text[operator.1..end];
        mutations.iter_mut().for_each(|mutation| mutation.text = format!("{}{operand}", mutation.text));
        self.add_expression((start, end), mutations);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        let (start, end) = self.text.range(expression);
        let mut mutations = vec![];
        for pair in expression.fields.pairs() {
            let (field, with_comma) = (self.text.range(*pair.value()), self.text.range(&pair));
            for mutation in self.take(field.0, "StructField") {
                let (before, after) = (&self.text.text[start..field.0], &self.text.text[with_comma.1..end]);
                mutations.push(Mutation { text: format!("{before}{after}"), ..mutation });
            }
        }
        self.add_expression((start, end), mutations);
        visit::visit_expr_struct(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let deletions = self.take(self.text.range(arm).0, "MatchArm");
        if let Some((_, guard)) = &arm.guard {
            let range = self.text.range(&**guard);
            // A guard with `let` is no value.
            if !has_let(guard) {
                let never =
                    deletions.into_iter().map(|mutation| Mutation { text: "false".into(), ..mutation });
                let mutations = never.chain(self.take(range.0, "MatchArmGuard")).collect();
                self.add_expression(range, mutations);
            }
        } else {
            let end = self.text.range(&arm.pat).1;
            let sites = deletions.iter().map(|mutation| Change::Deletion(mutation.id));
            self.sites.extend(sites.map(|change| Site { start: end, end, change }));
        }
        visit::visit_arm(self, arm);
    }

    fn visit_item_const(&mut self, constant: &'ast syn::ItemConst) {
        self.constant(|finder| visit::visit_item_const(finder, constant));
    }

    fn visit_impl_item_const(&mut self, constant: &'ast syn::ImplItemConst) {
        self.constant(|finder| visit::visit_impl_item_const(finder, constant));
    }

    fn visit_trait_item_const(&mut self, constant: &'ast syn::TraitItemConst) {
        self.constant(|finder| visit::visit_trait_item_const(finder, constant));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(|finder| visit::visit_item_static(finder, item));
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.constant(|finder| visit::visit_expr_const(finder, block));
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.constant(|finder| visit::visit_type_array(finder, array));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.constant(|finder| visit::visit_generic_argument(finder, argument));
    }

    fn visit_expr_repeat(&mut self, array: &'ast syn::ExprRepeat) {
        self.visit_expr(&array.expr);
        self.constant(|finder| finder.visit_expr(&array.len));
    }
}
