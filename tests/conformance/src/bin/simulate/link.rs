//! A connection to Redis that can be slowed down and cut.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) address: SocketAddr,
    delay: Arc<AtomicU64>,
    is_cut: watch::Sender<bool>,
}

impl Link {
    pub(crate) async fn open(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let link = Self { address: listener.local_addr()?, delay: Arc::default(), is_cut: watch::Sender::new(false) };
        let this = link.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *this.is_cut.borrow() {
                    continue;
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { continue };
                let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
                tokio::spawn(this.clone().copy(from_client, to_server));
                tokio::spawn(this.clone().copy(from_server, to_client));
            }
        });
        Ok(link)
    }

    pub(crate) fn delay(&self, delay: Duration) {
        self.delay.store(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Closes all connections and refuses new ones, or accepts connections again.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }

    async fn copy(self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut is_cut = self.is_cut.subscribe();
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = tokio::select! {
                _ = is_cut.wait_for(|is_cut| *is_cut) => return,
                read = from.read(&mut buffer) => read,
            };
            let Ok(read @ 1..) = read else { return };
            let delay = self.delay.load(Ordering::SeqCst);
            if delay > 0 {
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
            if to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    }
}
