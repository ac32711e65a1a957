//! The process group of a server and the processes that it starts.
//!
//! The process-wrap crate is not an alternative: it waits only for this process's own children, not for a server whose
//! launcher has exited, and it signals a group that has ended, whose ID another group may have by then.

use std::io;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// A process group that a server leads. Behind wrappers such as `npx` and `sh -c`, the real server is a member.
///
/// Only Unix has process groups. Elsewhere, the server is the only member.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The ID of the leader and the group. `None` once the group is empty, because the system may reuse the ID.
    #[cfg(unix)]
    id: Option<Pid>,
}

/// How long to wait before checking again whether the group is empty.
#[cfg(unix)]
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(unix)]
impl ProcessGroup {
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok((child, Self { id }))
    }

    /// Waits until all processes of the group have ended. Call this after the leader has exited.
    pub(super) async fn ended(&mut self) {
        while self.id.is_some_and(|id| test_kill_process_group(id).is_ok()) {
            tokio::time::sleep(PAUSE).await;
        }
        self.id = None;
    }

    /// Asks all processes of the group to exit. Returns whether the system supports that.
    pub(super) fn terminate(&self) -> io::Result<bool> {
        self.signal(Signal::TERM).map(|()| true)
    }

    pub(super) fn kill(&mut self, _: &mut Child) -> io::Result<()> {
        let killed = self.signal(Signal::KILL);
        self.id = None;
        killed
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.id.map_or(Ok(()), |id| kill_process_group(id, signal)) {
            // The group has just become empty.
            Err(Errno::SRCH) => Ok(()),
            signalled => Ok(signalled?),
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        Ok((command.spawn()?, Self {}))
    }

    #[expect(clippy::unused_async, reason = "the same signature on all systems")]
    pub(super) async fn ended(&mut self) {}

    pub(super) fn terminate(&self) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn kill(&mut self, server: &mut Child) -> io::Result<()> {
        server.start_kill()
    }
}
