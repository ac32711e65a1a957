//! Tests the contract of credential stores.

use mcpgen_auth::store::{CredentialStore, EntryKind, FileStore, MemoryStore, StoreKey};
use secrecy::ExposeSecret;

pub(crate) fn key(kind: EntryKind, server: &str, user: &str) -> StoreKey {
    StoreKey { kind, server: server.to_owned(), user: user.to_owned() }
}

/// Checks that a store keeps its entries apart.
pub(crate) async fn check(store: &dyn CredentialStore) {
    let keys = [
        key(EntryKind::Credentials, "https://a.example/", ""),
        key(EntryKind::Credentials, "https://a.example/", "ann"),
        key(EntryKind::Credentials, "https://b.example/", ""),
        key(EntryKind::Registration, "https://a.example/", ""),
    ];
    let load = async |key| store.load(key).await.expect("a readable store").map(|it| it.expose_secret().to_owned());
    for (index, key) in keys.iter().enumerate() {
        assert_eq!(load(key).await, None);
        store.save(key, &"old".into()).await.expect("a writable store");
        store.save(key, &index.to_string().into()).await.expect("a writable store");
    }
    for (index, key) in keys.iter().enumerate() {
        assert_eq!(load(key).await, Some(index.to_string()));
        store.remove(key).await.expect("a writable store");
        store.remove(key).await.expect("a missing entry is no error");
        assert_eq!(load(key).await, None);
    }
}

#[tokio::test]
async fn stores_keep_entries_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("credentials.json");
    check(&MemoryStore::default()).await;
    check(&FileStore::new(&path)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn file_store_loses_no_concurrent_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("credentials.json");
    let saves = (0..20).map(|index| {
        let store = FileStore::new(&path);
        tokio::spawn(async move {
            let key = key(EntryKind::Credentials, &format!("https://{index}.example/"), "");
            store.save(&key, &"secret".into()).await
        })
    });
    for save in saves.collect::<Vec<_>>() {
        save.await.expect("no panic").expect("a writable store");
    }
    for index in 0..20 {
        let key = key(EntryKind::Credentials, &format!("https://{index}.example/"), "");
        assert!(FileStore::new(&path).load(&key).await.expect("a readable store").is_some(), "{index}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn file_store_is_private_and_rejects_files_that_are_not() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("credentials.json");
    let (store, key) = (FileStore::new(&path), key(EntryKind::Credentials, "https://a.example/", ""));
    store.save(&key, &"top-secret".into()).await.expect("a writable store");
    for name in ["credentials.json", "credentials.json.lock"] {
        let mode = std::fs::metadata(directory.path().join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("a changed mode");
    let error = store.load(&key).await.expect_err("a public file");
    let source = std::error::Error::source(&error).expect("a source").to_string();
    assert!(source.contains("chmod 600"), "{source}");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("a changed mode");
    std::fs::write(&path, "top-secret").expect("a changed file");
    let error = store.load(&key).await.expect_err("not JSON");
    assert!(!format!("{error:?}").contains("top-secret"), "{error:?}");
}
