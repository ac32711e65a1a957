//! A client that uses all features that need state and checks what it receives.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::World;
use crate::http::{Failure, Session, text};

/// How long a failing operation is retried.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a client until the test ends.
pub(crate) async fn run(number: usize, world: Arc<World>, mut random: Rng) -> anyhow::Result<()> {
    let mut client = Client { number, calls: 0, session: Session::begin(&world, &mut random).await?, world, random };
    while !client.world.is_over.load(Ordering::SeqCst) {
        let listener = tokio::spawn(listen(client.session.clone(), Arc::clone(&client.world), client.random.fork()));
        client.work().await?;
        listener.abort();
        if client.world.is_over.load(Ordering::SeqCst) {
            break;
        }
        client.world.counts.lost_sessions.fetch_add(1, Ordering::SeqCst);
        client.session = Session::begin(&client.world, &mut client.random).await?;
    }
    Ok(())
}

struct Client {
    number: usize,
    calls: usize,
    session: Session,
    world: Arc<World>,
    random: Rng,
}

enum Attempt {
    Done,
    Again,
    NoSession,
}

impl Client {
    /// Works until the test ends or the session is lost.
    async fn work(&mut self) -> anyhow::Result<()> {
        while !self.world.is_over.load(Ordering::SeqCst) {
            let operation = self.random.usize(..5);
            let until = Instant::now() + PATIENCE;
            loop {
                let attempt = match operation {
                    0 | 1 => self.echo().await?,
                    2 => self.count().await?,
                    3 => self.ask().await?,
                    _ => self.task().await?,
                };
                match attempt {
                    Attempt::Done => {
                        self.world.counts.completed.fetch_add(1, Ordering::SeqCst);
                        break;
                    }
                    Attempt::NoSession => return Ok(()),
                    Attempt::Again => {
                        self.world.counts.interrupted.fetch_add(1, Ordering::SeqCst);
                        anyhow::ensure!(Instant::now() < until, "operation {operation} does not succeed");
                        sleep(Duration::from_millis(50)).await;
                    }
                }
            }
            sleep(Duration::from_millis(self.random.u64(0..50))).await;
        }
        Ok(())
    }

    /// Returns a request that calls a tool, and a text that no other call has.
    fn call(&mut self, tool: &str) -> (Value, String) {
        self.calls += 1;
        let text = format!("client {} call {}", self.number, self.calls);
        let params = json!({ "name": tool, "arguments": { "text": text }, "_meta": { "progressToken": self.calls } });
        (json!({ "jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params }), text)
    }

    fn check(&self, response: &Value, expected: &str) -> anyhow::Result<Attempt> {
        // The replica that handled the request has died.
        if response["error"]["message"].as_str().is_some_and(|why| why.contains("has died")) {
            return Ok(Attempt::Again);
        }
        // Without its store, the server refuses the request.
        if response["error"]["message"].as_str().is_some_and(|why| why.contains("try again")) {
            return Ok(Attempt::Again);
        }
        let found = text(response)?;
        if found != expected {
            self.world.wrong(&format!("expected {expected:?}, found {found:?}"));
        }
        Ok(Attempt::Done)
    }

    async fn echo(&mut self) -> anyhow::Result<Attempt> {
        let (request, expected) = self.call("echo");
        match self.session.request(&self.world, &mut self.random, &request, |_| None).await? {
            Ok(response) => self.check(&response, &expected),
            Err(failure) => Ok(failure.into()),
        }
    }

    /// Calls a tool that counts, and checks that no number is missing or repeated.
    async fn count(&mut self) -> anyhow::Result<Attempt> {
        let (request, expected) = self.call("count");
        let (mut last, mut wrong) = (0, None);
        let token = request["params"]["_meta"]["progressToken"].clone();
        let each = |message: &Value| {
            if message["params"]["progressToken"] == token {
                let number = message["params"]["progress"].as_f64().unwrap_or_default() as u64;
                if number != last + 1 {
                    wrong = Some(format!("number {number} follows {last}"));
                }
                last = number;
            }
            None
        };
        let response = self.session.request(&self.world, &mut self.random, &request, each).await?;
        if let Some(wrong) = wrong {
            self.world.wrong(&wrong);
        }
        match response {
            Ok(response) => {
                if response.get("result").is_some() && last != crate::replica::COUNT {
                    self.world.wrong(&format!("the last of {} numbers is {last}", crate::replica::COUNT));
                }
                self.check(&response, &expected)
            }
            Err(failure) => Ok(failure.into()),
        }
    }

    async fn ask(&mut self) -> anyhow::Result<Attempt> {
        let (request, expected) = self.call("ask");
        let each = |message: &Value| {
            let is_question = message["method"] == "elicitation/create" && message["params"]["message"] == expected;
            is_question.then(|| {
                let result = json!({ "action": "accept", "content": { "answer": expected } });
                json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
            })
        };
        match self.session.request(&self.world, &mut self.random, &request, each).await? {
            Ok(response) => self.check(&response, &expected),
            Err(failure) => Ok(failure.into()),
        }
    }

    /// Calls a tool as a task and waits until the task has ended.
    async fn task(&mut self) -> anyhow::Result<Attempt> {
        let (mut request, expected) = self.call("slow");
        request["params"]["task"] = json!({ "ttl": 120_000 });
        let created = match self.session.request(&self.world, &mut self.random, &request, |_| None).await? {
            Ok(response) => response,
            Err(failure) => return Ok(failure.into()),
        };
        let Some(id) = created["result"]["task"]["taskId"].as_str() else { return self.check(&created, &expected) };
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.about_task("tasks/get", id).await?;
            let found = match found {
                Ok(found) => found,
                Err(Failure::NoSession) => return Ok(Attempt::NoSession),
                Err(Failure::Interrupted) => continue,
            };
            match found["result"]["status"].as_str() {
                Some("working") => {}
                Some("completed") => break,
                Some("failed") => {
                    self.world.counts.failed_tasks.fetch_add(1, Ordering::SeqCst);
                    return Ok(Attempt::Done);
                }
                _ if self.world.may_lose_sessions => return Ok(Attempt::Again),
                _ => {
                    self.world.wrong(&format!("task {id}: {found}"));
                    return Ok(Attempt::Done);
                }
            }
            anyhow::ensure!(Instant::now() < until, "task {id} does not end");
            sleep(Duration::from_millis(100)).await;
        }
        loop {
            match self.about_task("tasks/result", id).await? {
                Ok(response) => return self.check(&response, &expected),
                Err(Failure::NoSession) => return Ok(Attempt::NoSession),
                Err(Failure::Interrupted) => anyhow::ensure!(Instant::now() < until, "task {id} has no result"),
            }
        }
    }

    async fn about_task(&mut self, method: &str, id: &str) -> anyhow::Result<Result<Value, Failure>> {
        self.calls += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": { "taskId": id } });
        let response = self.session.request(&self.world, &mut self.random, &request, |_| None).await?;
        let is_repeatable = |response: &Value| {
            let why = response["error"]["message"].as_str().unwrap_or_default();
            why.contains("has died") || why.contains("try again")
        };
        if response.as_ref().is_ok_and(is_repeatable) {
            sleep(Duration::from_millis(50)).await;
            return Ok(Err(Failure::Interrupted));
        }
        Ok(response)
    }
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Interrupted => Self::Again,
            Failure::NoSession => Self::NoSession,
        }
    }
}

/// Listens to notifications, and resumes the stream when it breaks. Every call of `count` announces a change, so a
/// stream without notifications has lost some.
async fn listen(session: Session, world: Arc<World>, mut random: Rng) -> anyhow::Result<()> {
    let mut last_id = None;
    let mut ids = std::collections::HashSet::new();
    loop {
        let Ok(mut events) = session.resume(&world, &mut random, last_id.as_deref()).await? else { return Ok(()) };
        while let Ok(Some(message)) = timeout(Duration::from_secs(30), events.next()).await {
            if message["method"] == "notifications/tools/list_changed" {
                world.counts.notifications.fetch_add(1, Ordering::SeqCst);
            }
            if let Some(id) = &events.last_id
                && !ids.insert(id.clone())
            {
                world.wrong(&format!("event {id} is repeated"));
            }
        }
        last_id = events.last_id;
    }
}
