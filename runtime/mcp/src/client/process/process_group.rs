//! The process group of a server: the server and the processes that it starts.
//!
//! process-wrap waits only for children of this process, and not for a server whose launcher has exited. It also signals
//! a group that has ended, although its ID may be another group's by then.

use std::io;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// A process group whose leader is a server. Wrappers such as `npx` and `sh -c` run the real server as a member.
///
/// Only Unix has process groups. On other systems, the server is its only member.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The ID of the leader and of the group. `None` once the group is empty, because the ID may be reused then.
    #[cfg(unix)]
    id: Option<Pid>,
}

/// The pause between two checks whether a group is empty.
#[cfg(unix)]
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(unix)]
impl ProcessGroup {
    /// Starts a process that leads a group.
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok((child, Self { id }))
    }

    /// Waits until all processes of the group have ended. Call it when the leader has.
    pub(super) async fn ended(&mut self) {
        while self.id.is_some_and(|id| test_kill_process_group(id).is_ok()) {
            tokio::time::sleep(PAUSE).await;
        }
        self.id = None;
    }

    /// Asks all processes of the group to end. Returns whether the system can do this.
    pub(super) fn terminate(&self) -> io::Result<bool> {
        self.signal(Signal::TERM).map(|()| true)
    }

    /// Kills all processes of the group.
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
