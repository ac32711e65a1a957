//! A store in a file that only the user can read.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::oneshot;

use super::entry::{CredentialStore, StoreError, StoreKey, StoreLock};
use crate::util::sha256;

/// How long to wait for an entry's lock. Its holder may be waiting for the authorization server.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Stores entries in a JSON file.
///
/// On Unix, the file has mode 0600, and a file that others can access is rejected. Changes replace the file atomically,
/// and a lock file next to it (`.lock`) keeps processes from losing each other's changes. A lock file per entry ensures
/// that only one process refreshes its tokens. The entries are not encrypted, so prefer the system's keyring if there
/// is one.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: PathBuf,
}

type Entries = BTreeMap<String, String>;

impl FileStore {
    /// Creates a store. The file is created with the first entry, in a directory that must exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let done = tokio::task::spawn_blocking(move || work(&path)).await.map_err(io::Error::other);
        done.and_then(|done| done).map_err(|error| self.error(error))
    }

    fn error(&self, error: io::Error) -> StoreError {
        StoreError::new(format!("`{}`", self.path.display()), error)
    }
}

impl CredentialStore for FileStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<Option<SecretString>, StoreError>> {
        let key = key.to_string();
        Box::pin(self.run(move |path| Ok(read(path)?.remove(&key).map(SecretString::from))))
    }

    fn save<'a>(&'a self, key: &'a StoreKey, value: &'a SecretString) -> BoxFuture<'a, Result<(), StoreError>> {
        let (key, value) = (key.to_string(), value.clone());
        Box::pin(self.run(move |path| {
            change(path, |entries| {
                entries.insert(key, value.expose_secret().to_owned());
            })
        }))
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<(), StoreError>> {
        let key = key.to_string();
        Box::pin(self.run(move |path| {
            change(path, |entries| {
                entries.remove(&key);
            })
        }))
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        let suffix = format!(".{}.lock", &sha256(&key.to_string())[..16]);
        let (locked, is_locked) = oneshot::channel();
        let (guard, released) = mpsc::channel::<()>();
        let held = self.run(move |path| hold(&beside(path, &suffix), locked, &released));
        Box::pin(async move {
            tokio::select! {
                biased;
                Ok(()) = is_locked => Ok(StoreLock::new(guard)),
                held = held => Err(held.err().unwrap_or_else(|| self.error(io::ErrorKind::Interrupted.into()))),
            }
        })
    }
}

/// Locks a file, reports that on `locked`, and holds the lock until the guard is dropped.
fn hold(path: &Path, locked: oneshot::Sender<()>, released: &mpsc::Receiver<()>) -> io::Result<()> {
    let mut lock = fd_lock::RwLock::new(lock_file(path)?);
    let start = Instant::now();
    // Waiting inside a system call would keep the runtime from shutting down.
    let _held = loop {
        match lock.try_write() {
            Ok(held) => break held,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if locked.is_closed() => return Ok(()),
            Err(_) if start.elapsed() > LOCK_TIMEOUT => {
                let why = format!("another process has held `{}` for {LOCK_TIMEOUT:?}", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            Err(_) => thread::sleep(LOCK_INTERVAL),
        }
    };
    if locked.send(()).is_ok() {
        // The guard holds the sender but sends nothing, so this returns an error as soon as the guard is dropped.
        let _ = released.recv();
    }
    Ok(())
}

/// The system releases the lock even if the process is killed.
fn lock_file(path: &Path) -> io::Result<File> {
    private(&mut OpenOptions::new()).create(true).truncate(false).write(true).open(path)
}

/// Holds the lock during the change.
fn change(path: &Path, change: impl FnOnce(&mut Entries)) -> io::Result<()> {
    let mut lock = fd_lock::RwLock::new(lock_file(&beside(path, ".lock"))?);
    let _held = lock.write()?;
    let mut entries = read(path)?;
    change(&mut entries);
    replace(path, &entries)
}

fn read(path: &Path) -> io::Result<Entries> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entries::new()),
        Err(error) => return Err(error),
    };
    check_mode(&file)?;
    // serde_json's error would quote the file.
    serde_json::from_reader(io::BufReader::new(file)).map_err(|error| {
        let place = format!("it is not a JSON object of strings (line {}); remove it to log in again", error.line());
        io::Error::new(io::ErrorKind::InvalidData, place)
    })
}

/// Atomic: readers see either the old entries or the new ones.
fn replace(path: &Path, entries: &Entries) -> io::Result<()> {
    let temporary = beside(path, ".new");
    let _ = fs::remove_file(&temporary);
    let mut file = private(&mut OpenOptions::new()).create_new(true).write(true).open(&temporary)?;
    file.write_all(&serde_json::to_vec(entries)?)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Rejects a file that other users can read or write.
#[cfg(unix)]
fn check_mode(file: &File) -> io::Result<()> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions());
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let why = format!("other users can access it (mode {:o}); run `chmod 600` on it", mode & 0o777);
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(not(unix))]
fn check_mode(_: &File) -> io::Result<()> {
    Ok(())
}
