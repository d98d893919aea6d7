//! `lately completions`: prints completions for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::writing::print;

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
    /// `lately` is the whole command line.
    pub(crate) fn run(&self, mut lately: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut lately, "lately", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
