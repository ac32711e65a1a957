//! What a client may know about the failure of a server.

use std::error::Error;
use std::io;
#[cfg(feature = "stdio")]
use std::process::ExitStatus;
use std::sync::Arc;

use mcpgen_mcp::client::handshake::HandshakeError;
#[cfg(feature = "stdio")]
use mcpgen_mcp::client::{CommandError, ServerExited};
use mcpgen_runtime::peer::CallError;

/// Says in a few words why a call or a connection failed, for clients. Unlike
/// [`error_chain`](mcpgen_runtime::util::error_chain), it never contains the command, the output or the address of a
/// server, which belong in the log.
#[must_use]
pub fn short_reason(error: &(dyn Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(reason) = reason(error) {
            return reason;
        }
        next = error.source();
    }
    "the connection failed".to_owned()
}

fn reason(error: &(dyn Error + 'static)) -> Option<String> {
    #[cfg(feature = "stdio")]
    if let Some(status) = exit_status(error) {
        return Some(match status.code() {
            Some(code) => format!("its process exited with status {code}"),
            None => "its process was killed by a signal".to_owned(),
        });
    }
    match error.downcast_ref::<HandshakeError>() {
        Some(HandshakeError::Call(error)) => return reason(error),
        Some(HandshakeError::Timeout(_) | HandshakeError::InitializeTimeout(_)) => {
            return Some("no response in time".to_owned());
        }
        Some(HandshakeError::Incompatible(_)) => return Some("it supports no revision of the gateway".to_owned()),
        _ => {}
    }
    if let Some(error) = error.downcast_ref::<Arc<io::Error>>() {
        return of_io(error);
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_io(error);
    }
    match error.downcast_ref::<CallError>()? {
        CallError::Timeout { .. } => Some("no response in time".to_owned()),
        CallError::Invalid(_) => Some("its response is invalid".to_owned()),
        CallError::ErrorResponse(error) => Some(format!("it responded with error {}", error.code.0)),
        CallError::ConnectionFailed(error) => of_io(error),
        CallError::Closed(_) => Some("the connection is closed".to_owned()),
        _ => None,
    }
}

#[cfg(feature = "stdio")]
fn exit_status(error: &(dyn Error + 'static)) -> Option<ExitStatus> {
    match (error.downcast_ref::<ServerExited>(), error.downcast_ref::<CommandError>()) {
        (Some(exited), _) => Some(exited.status),
        (_, Some(CommandError::Exited { status, .. })) => Some(*status),
        _ => None,
    }
}

fn of_io(error: &io::Error) -> Option<String> {
    match error.get_ref() {
        // The message of any other error could contain secrets, so it is not shown.
        Some(inner) => reason(inner),
        None => Some(error.kind().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn contains_no_details() {
        let secret = || io::Error::other("sh -c 'export TOKEN=x'");
        for (error, expected) in [
            (CallError::ConnectionFailed(Arc::new(secret())), "the connection failed"),
            (CallError::ConnectionFailed(Arc::new(io::ErrorKind::BrokenPipe.into())), "broken pipe"),
            (CallError::Invalid(secret().into()), "its response is invalid"),
            (CallError::Protocol(secret().into()), "the connection failed"),
            (CallError::Timeout { request: "x".to_owned(), limit: Duration::ZERO }, "no response in time"),
        ] {
            assert_eq!(short_reason(&error), expected, "{error:?}");
        }
    }
}
