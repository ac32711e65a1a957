//! Connects to the server.

use std::time::Duration;

use http::StatusCode;
use http::header::AUTHORIZATION;
use mcpgen_runtime::client::ConnectError;
use mcpgen_runtime::client::handshake::HandshakeError;
use mcpgen_runtime::http::client::{ClientOptions, HttpError};
use mcpgen_runtime::{CallError, Client, Limits};
use mcpgen_types::Revision;
use tokio::process::Command;

use crate::cli::{Connection, Target};
use crate::failure::{Failure, with_sources};
use crate::output::{Activity, plain};
use crate::processes;

/// How long the whole command may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take if the user may have to log in, for which there are five minutes.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(360);

/// How to reach the server.
pub(crate) enum Server<'a> {
    /// A URL, with the options of the transport.
    Url(&'a str, ClientOptions),
    /// A command.
    Command(Command),
}

impl Target {
    /// Returns how to reach the server. `activity` shows a login.
    #[cfg_attr(not(feature = "login"), allow(unused_variables, reason = "only a login uses it"))]
    pub(crate) fn server(&self, activity: &Activity) -> Result<Server<'_>, Failure> {
        if let Some(url) = &self.url {
            let mut options = ClientOptions::default();
            options.headers.extend(self.headers.iter().cloned());
            #[cfg(feature = "login")]
            if self.login {
                options.authorization = Some(crate::login::authorization(url, activity)?);
            }
            return Ok(Server::Url(url, options));
        }
        if self.has_login() || !self.headers.is_empty() {
            return Err(Failure::Usage(
                "--header and --login need a URL; pass secrets to a command in environment variables".to_owned(),
            ));
        }
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| Failure::Usage("write a URL, or `-- COMMAND`".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(Server::Command(command))
    }

    /// Returns whether the user may be asked to log in.
    fn has_login(&self) -> bool {
        #[cfg(feature = "login")]
        return self.login;
        #[cfg(not(feature = "login"))]
        return false;
    }

    /// Returns whether requests may have an access token.
    fn may_be_authorized(&self) -> bool {
        self.has_login() || self.headers.iter().any(|(name, _)| *name == AUTHORIZATION)
    }

    /// Returns the name of the server in messages.
    pub(crate) fn name(&self) -> String {
        self.url.clone().unwrap_or_else(|| self.command.join(" "))
    }
}

impl Connection {
    /// Connects to the server.
    pub(crate) async fn connect(&self, activity: &Activity) -> Result<Client, Failure> {
        let name = self.target.name();
        activity.message(format!(
            "connecting to {}: waiting for a response to {}",
            plain(&name),
            self.first_requests()
        ));
        // `--timeout` covers the whole command.
        let limits = Limits { idle_timeout: None, call_timeout: None, ..Limits::default() };
        let builder = Client::builder("mcpgen-probe", env!("CARGO_PKG_VERSION"))
            .options(|options| options.known_revision = self.revision)
            .process_tracker(processes::tracker().clone())
            .limits(limits);
        // The message can quote what the process has written.
        let failure =
            |error: &dyn std::error::Error| Failure::Connect { server: name.clone(), why: plain(&with_sources(error)) };
        match self.target.server(activity)? {
            Server::Url(url, options) => builder.connect_http(url, options).await.map_err(|error| {
                if is_unauthorized(&error) && !self.target.may_be_authorized() {
                    return Failure::Unauthorized { server: name.clone() };
                }
                failure(&error)
            }),
            Server::Command(command) => builder.connect_command(command).await.map_err(|error| failure(&error)),
        }
    }

    /// Returns the requests with which the client connects.
    fn first_requests(&self) -> &'static str {
        match self.revision.is_some_and(Revision::is_legacy) {
            true => "`initialize`",
            false => "`server/discover` or `initialize`",
        }
    }

    /// Connects, runs a command, and disconnects, within the timeout.
    pub(crate) async fn run<T>(
        &self,
        command: impl AsyncFnOnce(&Client, &Activity) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let activity = Activity::start("connecting");
        let session = async {
            let client = self.connect(&activity).await?;
            let done = command(&client, &activity).await;
            activity.message("disconnecting");
            // The outcome of the command counts, not that of disconnecting.
            let _ = client.close().await;
            done
        };
        let timeout = self.timeout.unwrap_or(if self.target.has_login() { LOGIN_TIMEOUT } else { TIMEOUT });
        tokio::time::timeout(timeout, session)
            .await
            .map_err(|_| Failure::Timeout { limit: timeout, activity: activity.current() })?
    }
}

/// Returns whether the server requires an access token, or another one.
fn is_unauthorized(error: &ConnectError) -> bool {
    let ConnectError::Handshake(HandshakeError::Call(CallError::Undelivered(why))) = error else { return false };
    let status = why.error.downcast_ref();
    matches!(status, Some(HttpError::Status { status, .. }) if *status == StatusCode::UNAUTHORIZED)
}
