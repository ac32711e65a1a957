//! `mcpgen-probe watch`: relays messages between a client and a server, and describes each.
//!
//! `relay` passes messages on, `command` starts a process, `http` connects to a URL, and `trace` reads a log instead.
//! `observer` describes the messages, and `validate` checks them against their revision's schema.

mod command;
mod http;
mod observer;
mod relay;
mod trace;
mod validate;

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use command::relay_to_command;
use http::relay_to_url;
use mcpgen_sdk::transport::{lines, stdio};
use mcpgen_types::{Error, Json, Revision};
use observer::{Observer, Side};
pub(crate) use trace::trace;

use crate::cli::WatchArgs;
use crate::failure::Failure;
use crate::output::Activity;
use crate::target::Server;

pub(crate) async fn run(args: &WatchArgs) -> Result<(), Failure> {
    let log: Box<dyn Write + Send> = match &args.log {
        Some(path) => {
            let file = File::create(path).map_err(Failure::io(format!("creating {}", path.display())))?;
            Box::new(anstream::StripStream::new(file))
        }
        None => Box::new(anstream::stderr()),
    };
    let observer = Arc::new(Mutex::new(Observer::new(log, args.full)));
    let client = stdio::stdio(lines::DEFAULT_LINE_LIMIT).map_err(Failure::io("opening standard input and output"))?;
    let name = args.target.name();
    let relayed = match args.target.server(&Activity::hidden())? {
        Server::Command(command) => relay_to_command(&observer, client, name, command).await,
        Server::Url(url, options) => relay_to_url(&observer, client, &name, url, options).await,
    };
    let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
    observer.end();
    relayed?;
    match observer.invalid() {
        0 => Ok(()),
        count => Err(Failure::InvalidMessages(count)),
    }
}

pub(crate) fn validate_result(revision: Revision, method: &str, result: &Json) -> Result<(), Error> {
    validate::result(revision.as_str(), Side::Client, method, false, result)
}
