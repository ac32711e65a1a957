//! A host: runs the servers of a configuration file in the format of desktop clients, and calls their tools.
//!
//! `host CONFIG` reads commands from standard input: `tools`, `call SERVER__TOOL [JSON]` and `quit`. It restarts
//! servers that exit, shows their logs, their progress and changes to their tools, and passes their questions on to the
//! user.

#![allow(deprecated, reason = "2026-07-28 deprecates log messages, and still has them")]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mcpgen_sdk::client::{Field, Form};
use mcpgen_sdk::http::client::ClientOptions;
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::protocol::{Level, Progress};
use mcpgen_sdk::types::{ElicitRequestParams, ElicitResult, ElicitResultAction, SubscriptionFilter};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin};
use tokio::{process::Command, sync::Mutex};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    mcp_servers: BTreeMap<String, ServerConfig>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ServerConfig {
    Command { command: String, args: Option<Vec<String>>, env: Option<HashMap<String, String>> },
    Url { url: String, headers: Option<HashMap<String, String>> },
}

struct Host {
    clients: Mutex<BTreeMap<String, Client>>,
    /// What the user types: commands, and answers to questions during a call.
    input: Mutex<Lines<BufReader<Stdin>>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let path = std::env::args().nth(1).ok_or("usage: host CONFIG")?;
    let config: Config = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let host = Arc::new(Host { clients: Mutex::default(), input: Mutex::new(BufReader::new(stdin()).lines()) });
    for (name, server) in config.mcp_servers {
        tokio::spawn(Arc::clone(&host).supervise(name, server));
    }
    while let Some(line) = host.read_line().await {
        let mut words = line.splitn(3, ' ');
        let answer = match (words.next(), words.next(), words.next()) {
            (Some("tools"), ..) => Ok(host.tools().await.join("\n")),
            (Some("call"), Some(tool), arguments) => host.call(tool, arguments.unwrap_or("{}")).await,
            (Some("quit"), ..) => break,
            _ => Ok("commands: tools, call SERVER__TOOL [JSON], quit".to_owned()),
        };
        println!("{}", answer.unwrap_or_else(|error| format!("error: {error}")));
    }
    for (_, client) in std::mem::take(&mut *host.clients.lock().await) {
        client.close().await.ok();
    }
    Ok(())
}

impl Host {
    async fn read_line(&self) -> Option<String> {
        self.input.lock().await.next_line().await.ok()?
    }

    /// Connects to a server, and again a second after the attempt has failed or the connection has ended.
    async fn supervise(self: Arc<Self>, name: String, server: ServerConfig) {
        loop {
            match self.connect(&name, &server).await {
                Ok(client) => {
                    self.clients.lock().await.insert(name.clone(), client.clone());
                    println!("[{name}] ready");
                    tokio::join!(client.closed(), watch(&name, &client));
                    self.clients.lock().await.remove(&name);
                    println!("[{name}] ended: {:?}", client.close().await.err());
                }
                Err(error) => println!("[{name}] {error}"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn connect(self: &Arc<Self>, name: &str, server: &ServerConfig) -> Result<Client, BoxError> {
        let (host, log) = (Arc::clone(self), name.to_owned());
        let client = Client::builder("host", "0.1.0")
            .on_log(Level::Info, move |message| {
                println!("[{log}] {}", message.data);
                async {}
            })
            .on_elicitation(move |_, question| {
                let host = Arc::clone(&host);
                async move { Ok(host.ask(question).await) }
            });
        Ok(match server {
            ServerConfig::Command { command, args, env } => {
                let mut process = Command::new(command);
                process.args(args.iter().flatten()).envs(env.iter().flatten());
                client.connect_command(process).await?
            }
            ServerConfig::Url { url, headers } => {
                let headers = headers.as_ref().unwrap_or(&HashMap::new()).try_into()?;
                client.connect_http(url, ClientOptions::default().with_headers(headers)).await?
            }
        })
    }

    /// Prefixes each tool's name with its server's name, because two servers may have a tool of the same name.
    async fn tools(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, client) in &*self.clients.lock().await {
            match client.tools().await {
                Ok(tools) => lines.extend(tools.iter().map(|it| format!("{name}__{}: {:?}", it.name, it.description))),
                Err(error) => lines.push(format!("[{name}] {error}")),
            }
        }
        lines
    }

    async fn call(&self, tool: &str, arguments: &str) -> Result<String, BoxError> {
        let (server, tool) = tool.split_once("__").ok_or("expected SERVER__TOOL")?;
        let client = self.clients.lock().await.get(server).cloned().ok_or("no such server is running")?;
        let arguments: JsonObject = mcpgen_types::from_str(arguments)?;
        let report = |now: Progress| println!("{} {}", now.progress, now.message.unwrap_or_default());
        Ok(client.tool(tool).arguments(arguments).on_progress(report).text().await?)
    }

    async fn ask(&self, question: ElicitRequestParams) -> ElicitResult {
        let ElicitRequestParams::ElicitRequestFormParams(params) = question else {
            return ElicitResult::new(ElicitResultAction::Decline);
        };
        println!("{}", params.message);
        let ask = |field: Field, problem: Option<String>| async move {
            println!("{}{} ({}):", problem.map_or(String::new(), |why| format!("{why}. ")), field.title, field.kind);
            self.read_line().await
        };
        Form::new(&params).fill(ask).await
    }
}

async fn watch(name: &str, client: &Client) {
    let Ok(mut changes) = client.changes(SubscriptionFilter::new().with_tools_list_changed(true)).await else { return };
    while let Ok(Some(change)) = changes.try_next().await {
        println!("[{name}] changed: {change:?}");
    }
}
