//! The server over standard input and output, which must be pipes.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use tokio::net::unix::pipe::{Receiver, Sender};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    echo_hand::serve(Receiver::from_file(input)?, Sender::from_file(output)?).await
}
