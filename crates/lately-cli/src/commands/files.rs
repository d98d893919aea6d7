//! The files of a command. None is written that is also read, or that is written for another purpose.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::reading::Inputs;
use crate::system::identity::Identity;

#[derive(Default)]
pub(super) struct Files(Vec<Use>);

struct Use {
    /// The flag that names the file, or what it is.
    name: &'static str,
    path: PathBuf,
    identity: Identity,
    is_written: bool,
}

const OUTPUT: &str = "standard output";

impl Files {
    pub(super) fn read_inputs(&mut self, inputs: &Inputs) -> Result<(), Failure> {
        for (path, identity) in inputs.identities() {
            self.add("an input", path, identity, false)?;
        }
        Ok(())
    }

    pub(super) fn read(&mut self, name: &'static str, path: &Path) -> Result<(), Failure> {
        self.add(name, path.to_path_buf(), Identity::of_path(path), false)
    }

    pub(super) fn write(&mut self, name: &'static str, path: &Path) -> Result<(), Failure> {
        self.add(name, path.to_path_buf(), Identity::of_path(path), true)
    }

    pub(super) fn write_output(&mut self, output: &File) -> Result<(), Failure> {
        self.add(OUTPUT, OUTPUT.into(), Identity::of_file(output), true)
    }

    fn add(
        &mut self,
        name: &'static str,
        path: PathBuf,
        identity: Option<Identity>,
        is_written: bool,
    ) -> Result<(), Failure> {
        let Some(identity) = identity else { return Ok(()) };
        let is_clash = |other: &&Use| other.identity == identity && (is_written || other.is_written);
        match self.0.iter().find(is_clash) {
            Some(other) if name == OUTPUT => {
                return Err(Failure::other(format!(
                    "{}: is where the output goes; write to another file, and rename it afterwards",
                    other.path.display()
                )));
            }
            Some(other) => {
                return Err(Failure::Usage(format!(
                    "{} and {name} are the same file, {}; use two different files",
                    other.name,
                    path.display()
                )));
            }
            None => self.0.push(Use { name, path, identity, is_written }),
        }
        Ok(())
    }
}
