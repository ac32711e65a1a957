//! Connects to the server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use http::header::AUTHORIZATION;
use mcpgen_sdk::client::handshake::{ConnectOptions, HandshakeError};
use mcpgen_sdk::client::{ClientBuilder, CommandError, ServerOutput};
use mcpgen_sdk::http::client::{ClientOptions, ConnectError, ConnectHttp, HttpError};
use mcpgen_sdk::tasks::CallTasks;
use mcpgen_sdk::{CallError, Client, Limits};
use mcpgen_types::{JsonRef, Revision};
use tokio::process::Command;

use crate::cli::{Connection, Target};
use crate::failure::{Failure, with_sources};
use crate::output::{self, Activity, plain};
use crate::processes;

/// How long the whole command may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The same for a command with a login, for which the user has five minutes.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(360);

pub(crate) enum Server<'a> {
    /// A URL, with the options of the transport.
    Url(&'a str, ClientOptions),
    Command(Command),
}

impl Target {
    /// Returns how to reach the server. During a login, `activity` shows the address of the page.
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

    fn has_login(&self) -> bool {
        #[cfg(feature = "login")]
        return self.login;
        #[cfg(not(feature = "login"))]
        return false;
    }

    /// Whether requests may carry an access token.
    fn may_be_authorized(&self) -> bool {
        self.has_login() || self.headers.iter().any(|(name, _)| *name == AUTHORIZATION)
    }

    /// The server's name in messages to the user.
    pub(crate) fn name(&self) -> String {
        self.url.clone().unwrap_or_else(|| self.command.join(" "))
    }
}

impl Connection {
    /// Connects to the server, in the requested revision if there is one. Whatever the server writes besides messages
    /// is added to `written`.
    async fn connect(
        &self,
        prepare: impl FnOnce(ClientBuilder) -> ClientBuilder,
        activity: &Activity,
        written: &Written,
    ) -> Result<Client, Failure> {
        let name = self.target.name();
        activity.message(format!(
            "connecting to {}: waiting for a response to {}",
            plain(&name),
            self.first_requests()
        ));
        // `--timeout` covers the whole command.
        let limits = Limits::default().with_idle_timeout(None).with_call_timeout(None);
        let (stderr, stdout) = (written.clone(), written.clone());
        let builder = Client::builder("mcpgen-probe", env!("CARGO_PKG_VERSION"))
            .options(|options| self.request_revision(options))
            .on_stderr(move |line| stderr.stderr_line(line))
            .on_stray_output(move |line| stdout.stray_line(line))
            .process_tracker(processes::tracker().clone())
            .limits(limits)
            .tasks();
        let builder = prepare(builder);
        let connected = match self.target.server(activity)? {
            Server::Url(url, options) => builder.connect_http(url, options).await.map_err(|error| match &error {
                error if is_unauthorized(error) && !self.target.may_be_authorized() => {
                    Failure::Unauthorized { server: name.clone() }
                }
                ConnectError::Handshake(why) => Failure::connect(&name, &(with_sources(&error) + &supported(why))),
                error => Failure::connect(&name, &with_sources(error)),
            }),
            // These errors name the command.
            Server::Command(command) => builder.connect_command(command).await.map_err(|error| match &error {
                CommandError::Handshake { source, .. } => Failure::Command(with_sources(&error) + &supported(source)),
                error => Failure::Command(with_sources(error)),
            }),
        };
        let client = connected?;
        match self.revision.filter(|requested| *requested != client.revision()) {
            None => Ok(client),
            Some(requested) => {
                let speaks = client.revision();
                // The error to report is the mismatch, even if disconnecting fails, too.
                let _ = client.close().await;
                Err(Failure::Revision { server: name, requested, speaks })
            }
        }
    }

    /// Proposes the requested revision first, and then all others, so that a server without it says which one it
    /// speaks.
    fn request_revision(&self, options: &mut ConnectOptions) {
        options.known_revision = self.revision;
        options.local_info.revisions.sort_by_key(|revision| Some(*revision) != self.revision);
    }

    /// Names the requests that the client may send first.
    fn first_requests(&self) -> &'static str {
        match self.revision.is_some_and(Revision::is_legacy) {
            true => "`initialize`",
            false => "`server/discover` or `initialize`",
        }
    }

    /// Connects, runs a command, and disconnects, all within the timeout.
    pub(crate) async fn run<T>(
        &self,
        command: impl AsyncFnOnce(&Client, &Activity) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.run_with(|client| client, command).await
    }

    /// Like [`run`](Self::run), but `prepare` can extend the client.
    pub(crate) async fn run_with<T>(
        &self,
        prepare: impl FnOnce(ClientBuilder) -> ClientBuilder,
        command: impl AsyncFnOnce(&Client, &Activity) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (activity, written) = (Activity::start("connecting"), Written::default());
        let mut done = None;
        let session = async {
            let client = self.connect(prepare, &activity, &written).await?;
            let _close_on_drop = CloseOnDrop(client.clone());
            done = Some(command(&client, &activity).await);
            activity.message("disconnecting");
            // The command's outcome counts, not that of disconnecting.
            let _ = client.close().await;
            Ok(())
        };
        let limit = self.timeout.unwrap_or(if self.target.has_login() { LOGIN_TIMEOUT } else { TIMEOUT });
        let session = tokio::time::timeout(limit, session).await;
        if let (Some(_), Some(line)) = (&done, written.output().stray) {
            output::warning(&format!(
                "the server wrote a line to stdout that is not a message: {line:?} (servers must log to stderr)"
            ));
        }
        match (done, session) {
            (Some(done), _) => done,
            (None, Ok(Err(failure))) => Err(failure),
            (None, _) => Err(Failure::Timeout { limit, activity: activity.current(), output: written.output() }),
        }
    }
}

/// Closes the connection when a signal or the timeout stops a command, which cancels its call and ends its session. The
/// process waits for this.
struct CloseOnDrop(Client);

/// How long to wait for a server to accept the cancellation.
const CLOSING: Duration = Duration::from_secs(2);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        processes::tracker().spawn(tokio::time::timeout(CLOSING, self.0.clone().close()));
    }
}

/// What a server's process wrote besides messages.
#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<ServerOutput>>);

/// How many lines of standard error a message quotes, and how many characters of each.
const STDERR_LINES: usize = 10;
const STDERR_COLUMNS: usize = 200;

impl Written {
    fn stderr_line(&self, line: &str) {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<&str> = output.stderr.lines().collect();
        let line: String = line.chars().take(STDERR_COLUMNS).collect();
        lines.push(&line);
        output.stderr = lines[lines.len().saturating_sub(STDERR_LINES)..].join("\n");
    }

    fn stray_line(&self, line: &str) {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        output.stray.get_or_insert_with(|| line.to_owned());
    }

    fn output(&self) -> ServerOutput {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The revisions that the server's error response lists, if any, as the end of an error message.
fn supported(error: &HandshakeError) -> String {
    let HandshakeError::Call(CallError::ErrorResponse(error)) = error else { return String::new() };
    let listed = error.data.as_ref().and_then(|data| data.get("supported"));
    let revisions: Vec<_> = listed.into_iter().flat_map(JsonRef::elements).filter_map(JsonRef::as_str).collect();
    if revisions.is_empty() { String::new() } else { format!("; the server supports {}", revisions.join(", ")) }
}

/// Whether the server requires an access token, or a different one.
fn is_unauthorized(error: &ConnectError) -> bool {
    let ConnectError::Handshake(HandshakeError::Call(CallError::Undelivered(why))) = error else { return false };
    let status = why.error.downcast_ref();
    matches!(status, Some(HttpError::Status { status, .. }) if *status == StatusCode::UNAUTHORIZED)
}
