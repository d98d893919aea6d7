//! `lately completions`: prints completions for a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Lately;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  lately completions bash > ~/.local/share/bash-completion/completions/lately
  lately completions zsh > ~/.zfunc/_lately
  lately completions fish > ~/.config/fish/completions/lately.fish";

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Lately::command(), "lately", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
