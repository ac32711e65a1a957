//! Sends and receives the messages of exchanges, and detects dead replicas.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use mcpgen_sdk::replicas::{Answer, ForwardedRequest, ForwardedResponse, StoreError};
use redis::aio::PubSub;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::CHECK;
use super::message::{Head, Message};
use super::requester::Requester;
use super::responder::Responder;
use super::sender::Sender;
use crate::connection::Backoff;
use crate::error::Unavailable;
use crate::replica::Replica;

pub(crate) struct Exchanges {
    sender: Sender,
    requester: Arc<Requester>,
    responder: Arc<Responder>,
}

pub(crate) struct Outgoing(mpsc::UnboundedReceiver<(String, Head)>);

impl Exchanges {
    pub(crate) fn new(replica: Arc<Replica>) -> (Arc<Self>, Outgoing) {
        let (later, outgoing) = mpsc::unbounded_channel();
        let responder = Arc::new(Responder::new(replica.options.max_exchanges));
        let sender = Sender { replica, later };
        (Arc::new(Self { sender, requester: Arc::default(), responder }), Outgoing(outgoing))
    }

    pub(crate) async fn forward(
        &self,
        replica: &str,
        request: ForwardedRequest,
    ) -> Result<ForwardedResponse, StoreError> {
        Arc::clone(&self.requester).forward(self.sender.clone(), replica, request).await
    }

    pub(crate) fn set_answer(&self, answer: Answer) {
        self.responder.set_answer(answer);
    }

    /// Ends all exchanges, because this replica stops.
    pub(crate) fn stop(&self) {
        self.requester.fail_all();
        self.responder.stop(None);
    }

    pub(crate) async fn subscribe(&self) -> Result<PubSub, StoreError> {
        let replica = &self.sender.replica;
        replica.connection.subscribe(&replica.keys.inbox(&replica.id)).await
    }

    /// Sends what [`Sender::send_later`] has queued.
    pub(crate) async fn send_outgoing(self: Arc<Self>, mut outgoing: Outgoing) {
        while let Some((replica, head)) = outgoing.0.recv().await {
            if let Err(error) = self.sender.send(&replica, &head, &[]).await {
                tracing::debug!(%error, "cannot send a message to another replica");
            }
        }
    }

    /// Receives messages, and subscribes again if the connection is lost.
    pub(crate) async fn run(self: Arc<Self>, first: PubSub) {
        let mut subscription = Some(first);
        let mut backoff = Backoff::default();
        loop {
            let result = match subscription.take() {
                Some(subscription) => Ok(subscription),
                None => self.subscribe().await.inspect(|_| {
                    // Nobody told this replica which sessions moved in the meantime.
                    self.sender.replica.renewals.check_all();
                }),
            };
            let Err(error) = match result {
                Ok(subscription) => {
                    backoff = Backoff::default();
                    self.receive(subscription).await
                }
                Err(error) => Err(error),
            };
            tracing::warn!(%error, "cannot receive messages from other replicas; trying again");
            // Messages may have been lost.
            self.stop();
            backoff.wait().await;
        }
    }

    async fn receive(&self, subscription: PubSub) -> Result<Infallible, StoreError> {
        let (mut sink, mut messages) = subscription.split();
        let mut pings = interval(CHECK);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = messages.next() => self.handle(message.ok_or(Unavailable::Interrupted)?),
                _ = pings.tick() => {
                    let ping = self.sender.replica.connection.within(sink.ping::<redis::Value>());
                    tokio::pin!(ping);
                    // The response to the ping comes after queued messages, so receive those meanwhile.
                    loop {
                        tokio::select! {
                            result = &mut ping => break drop(result?),
                            Some(message) = messages.next() => self.handle(message),
                        }
                    }
                }
            }
        }
    }

    fn handle(&self, message: redis::Msg) {
        if let Err(error) = self.dispatch(Bytes::copy_from_slice(message.get_payload_bytes())) {
            tracing::warn!(%error, "ignored a message from another replica");
        }
    }

    fn dispatch(&self, bytes: Bytes) -> Result<(), StoreError> {
        let Message { head, body } = Message::decode(bytes)?;
        match head {
            Head::Request(_) | Head::Consumed { .. } | Head::Cancel { .. } | Head::Probe { .. } => {
                self.responder.receive(&self.sender, head, body)
            }
            Head::Moved { session } => {
                self.sender.replica.renewals.check(&session);
                Ok(())
            }
            _ => self.requester.receive(head, body),
        }
    }

    /// Regularly ends exchanges with dead replicas.
    pub(crate) async fn check(self: Arc<Self>) {
        let mut ticks = interval(CHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.check_once().await {
                tracing::debug!(%error, "cannot check whether other replicas are alive");
            }
        }
    }

    async fn check_once(&self) -> Result<(), StoreError> {
        let replica = &self.sender.replica;
        for (other, ids) in self.requester.replicas() {
            let probe = Head::Probe { from: replica.id.clone(), ids: ids.clone() };
            let is_subscribed = self.sender.send(&other, &probe, &[]).await?;
            if !is_subscribed || (!replica.is_alive(&other).await? && replica.can_tell_deaths()) {
                self.requester.fail(&ids);
            }
        }
        for other in self.responder.replicas() {
            if !replica.is_alive(&other).await? && replica.can_tell_deaths() {
                self.responder.stop(Some(&other));
            }
        }
        Ok(())
    }
}
