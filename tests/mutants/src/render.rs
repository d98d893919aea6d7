//! Writes a file with the conditions of its mutants.

use serde::Serialize;

use crate::find::{Change, Mutation, Site, Text};

/// Bytes of the written file. An error in the narrowest region around it is the fault of these mutants.
#[derive(Serialize)]
pub(crate) struct Region {
    start: usize,
    end: usize,
    /// A function has all its mutants, too many to blame if a narrower region can be found.
    whole_function: bool,
    mutants: Vec<usize>,
}

/// Returns the text with the mutants of the sites, and where they are in it.
pub(crate) fn render(text: &Text, sites: &[Site]) -> (String, Vec<Region>) {
    let mut written = Written { source: &text.text, text: String::new(), regions: vec![] };
    written.sites(sites, 0, text.text.len());
    (written.text, written.regions)
}

struct Written<'a> {
    source: &'a str,
    text: String,
    regions: Vec<Region>,
}

impl Written<'_> {
    /// Writes the bytes of the source from `start` to `end`, in which the sites lie.
    fn sites(&mut self, sites: &[Site], start: usize, end: usize) {
        let (mut at, mut rest) = (start, sites);
        while let Some((site, after)) = rest.split_first() {
            let inner = after.iter().take_while(|other| other.start < site.end).count();
            self.text.push_str(&self.source[at..site.start]);
            self.site(site, &after[..inner]);
            (at, rest) = (site.end, &after[inner..]);
        }
        self.text.push_str(&self.source[at..end]);
    }

    fn site(&mut self, site: &Site, inner: &[Site]) {
        let start = self.text.len();
        match &site.change {
            Change::Function => self.sites(inner, site.start, site.end),
            Change::Expression(mutations) => {
                self.text.push('(');
                for mutation in mutations {
                    self.condition(mutation, "", " else ");
                }
                self.text.push_str("{ ");
                self.sites(inner, site.start, site.end);
                self.text.push_str(" })");
            }
            Change::Return(mutations) => {
                for mutation in mutations {
                    self.condition(mutation, "return ", "");
                }
            }
            Change::Deletion(id) => self.text.push_str(&format!(" if !crate::mutants::on({id})")),
        }
        let whole_function = matches!(site.change, Change::Function);
        let mutants = if whole_function { inner.iter().flat_map(ids).collect() } else { ids(site) };
        self.regions.push(Region { start, end: self.text.len(), whole_function, mutants });
    }

    fn condition(&mut self, mutation: &Mutation, before: &str, after: &str) {
        let Mutation { id, text } = mutation;
        self.text.push_str(&format!("if crate::mutants::on({id}) "));
        let start = self.text.len();
        self.text.push_str(&format!("{{ {before}{text} }}"));
        self.regions.push(Region { start, end: self.text.len(), whole_function: false, mutants: vec![*id] });
        self.text.push_str(after);
    }
}

fn ids(site: &Site) -> Vec<usize> {
    match &site.change {
        Change::Function => vec![],
        Change::Expression(mutations) | Change::Return(mutations) => mutations.iter().map(|m| m.id).collect(),
        Change::Deletion(id) => vec![*id],
    }
}
