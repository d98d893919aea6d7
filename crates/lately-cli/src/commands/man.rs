//! `lately man`: prints manual pages in the format of `man`.

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::failure::Failure;
use crate::writing::print;

const EXAMPLES: &str = "\
Examples:
  lately man | man -l -
  lately man dedup > /usr/local/share/man/man1/lately-dedup.1";

/// Print the manual page of lately or of one of its commands
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// The command to describe
    command: Option<String>,
}

impl Man {
    /// `lately` is the whole command line.
    pub(crate) fn run(&self, mut lately: Command) -> Result<(), Failure> {
        // Gives the commands their full names.
        lately.build();
        let command = match &self.command {
            None => lately,
            Some(name) => lately.find_subcommand(name).cloned().ok_or_else(|| {
                let names: Vec<_> = lately.get_subcommands().map(Command::get_name).collect();
                Failure::Usage(format!("there is no command `{name}`; the commands are {}", names.join(", ")))
            })?,
        };
        let mut page = Vec::new();
        let rendered = Page::new(command).render(&mut page);
        rendered.map_err(|error| Failure::other(format!("cannot generate the manual page: {error}")))?;
        // The generator does not know that the text after the help is the examples.
        print(&String::from_utf8_lossy(&page).replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n"))
    }
}
