//! Connects to the server.

use mcpgen_runtime::Client;
use mcpgen_runtime::http::client::ClientOptions;
use tokio::process::Command;

use crate::cli::{Connection, Target};
use crate::failure::{Failure, with_sources};
use crate::output::{Activity, plain};

/// How to reach the server.
pub(crate) enum Server<'a> {
    /// A URL, with the options of the transport.
    Url(&'a str, ClientOptions),
    /// A command.
    Command(Command),
}

impl Target {
    /// Returns how to reach the server.
    pub(crate) fn server(&self) -> Result<Server<'_>, Failure> {
        if let Some(url) = &self.url {
            let mut options = ClientOptions::default();
            options.headers.extend(self.headers.iter().cloned());
            #[cfg(feature = "login")]
            if self.login {
                options.authorization = Some(crate::login::authorization(url)?);
            }
            return Ok(Server::Url(url, options));
        }
        #[cfg(feature = "login")]
        let has_login = self.login;
        #[cfg(not(feature = "login"))]
        let has_login = false;
        if has_login || !self.headers.is_empty() {
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

    /// Returns the name of the server in messages.
    pub(crate) fn name(&self) -> String {
        self.url.clone().unwrap_or_else(|| self.command.join(" "))
    }
}

impl Connection {
    /// Connects to the server.
    pub(crate) async fn connect(&self, activity: &Activity) -> Result<Client, Failure> {
        let name = self.target.name();
        activity.message(format!("connecting to {name}"));
        let builder = Client::builder("mcpgen-probe", env!("CARGO_PKG_VERSION"))
            .options(|options| options.known_revision = self.revision);
        let failure = |error: &dyn std::error::Error| Failure::Connect {
            server: name.clone(),
            // The message can quote what the process has written.
            why: plain(&with_sources(error)),
        };
        match self.target.server()? {
            Server::Url(url, options) => builder.connect_http(url, options).await.map_err(|error| failure(&error)),
            Server::Command(command) => builder.connect_command(command).await.map_err(|error| failure(&error)),
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
        tokio::time::timeout(self.timeout, session).await.map_err(|_| Failure::Timeout(self.timeout))?
    }
}
