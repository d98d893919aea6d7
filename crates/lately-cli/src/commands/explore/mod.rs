//! `lately explore`: serves the page from the binary, to this machine only.

mod browser;
mod pages;
mod request;
mod server;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

use clap::Args;

use crate::failure::Failure;
use crate::writing::print;

const EXAMPLES: &str = "\
Examples:
  Open the page in the browser:
    lately explore
  Serve it on a port of your choice, and open it yourself:
    lately explore --port 8080 --no-open";

/// Plan filters, watch one work, try one on your lines, and look into states, in the browser
///
/// The page runs in the browser; nothing that you open in it leaves your machine. The command serves it until you stop
/// it with Ctrl-C.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explore {
    /// Serve the page on this port [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
}

impl Explore {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).map_err(|error| self.refused(&error))?;
        let port = listener.local_addr().map_err(|error| self.refused(&error))?.port();
        let address = format!("http://127.0.0.1:{port}/");
        print(&format!("{address}\n"))?;
        if !self.no_open {
            browser::open(&address);
        }
        server::serve(&listener, port)
    }

    fn refused(&self, error: &std::io::Error) -> Failure {
        let port = self.port;
        match error.kind() {
            ErrorKind::AddrInUse => Failure::other(format!(
                "--port {port} is in use by another program: give another one, or leave --port out for a free one"
            )),
            ErrorKind::PermissionDenied => Failure::other(format!(
                "--port {port} needs more rights: give one above 1023, or leave --port out for a free one"
            )),
            _ => Failure::other(format!("cannot serve on 127.0.0.1:{port}: {error}")),
        }
    }
}
