//! The commands, one file or directory each; the others serve several of them.

mod completions;
mod contains;
mod dedup;
mod explore;
mod files;
pub(crate) mod flags;
mod human;
mod inspect;
mod man;
mod metrics;
mod plan;
mod reports;
mod stream;
mod summary;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Failure;

/// Have I seen this lately? Answered for an endless stream, in fixed memory
#[derive(Parser, Debug)]
#[command(name = "lately", version)]
pub(crate) struct Lately {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Dedup(Box<dedup::Dedup>),
    Contains(contains::Contains),
    Inspect(inspect::Inspect),
    Plan(plan::PlanCommand),
    Explore(explore::Explore),
    Metrics(metrics::Metrics),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Lately {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Dedup(command) => command.run(),
            Command::Contains(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::Plan(command) => command.run(),
            Command::Explore(command) => command.run(),
            Command::Metrics(command) => command.run(),
            Command::Completions(command) => command.run(Self::command()),
            Command::Man(command) => command.run(Self::command()),
        }
    }
}
