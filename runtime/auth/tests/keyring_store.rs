//! Tests the store in a keyring: one in memory, and the system's.

use std::error::Error as _;
use std::sync::Arc;

use keyring_core::{CredentialStore as Keyring, Error, mock};
use mcpgen_auth::server::DpopPolicy;
use mcpgen_auth::store::{CredentialStore, EntryKind, KeyringStore};
use secrecy::ExposeSecret;

use crate::authorization_server::AuthorizationServer;
use crate::flow::{ProtectedServer, call, connect, options};
use crate::stores::{check, key};

const SERVICE: &str = "mcpgen-auth test";

fn in_memory() -> (KeyringStore, Arc<Keyring>) {
    let keyring: Arc<Keyring> = mock::Store::new().expect("a keyring");
    (KeyringStore::with_keyring(SERVICE, Arc::clone(&keyring)), keyring)
}

/// Checks that a second client uses the stored login, and that logging out deletes it.
async fn check_login(store: KeyringStore) {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Required).await;
    let mut options = options();
    options.dpop = true;
    options.store = Arc::new(store.clone());
    assert_eq!(call(&connect(&server.url, options.clone(), None).await, "read").await, "alice");
    issuer.log();
    assert_eq!(call(&connect(&server.url, options.clone(), None).await, "read").await, "alice");
    assert!(issuer.log().is_empty(), "there is no second login");
    let oauth = mcpgen_auth::client::OAuthClient::new(&server.url, options).expect("a client");
    oauth.log_out().await.expect("a writable keyring");
    let key = key(EntryKind::Credentials, &server.url, "");
    assert!(store.load(&key).await.expect("a readable keyring").is_none());
    store.remove(&self::key(EntryKind::Registration, issuer.issuer(), "")).await.expect("a writable keyring");
}

#[tokio::test]
async fn keyring_store_keeps_entries_apart() {
    let (store, keyring) = in_memory();
    check(&store).await;
    check_login(store).await;
    // Applications do not see each other's entries in the keyring.
    let entry = key(EntryKind::Credentials, "https://a.example/", "");
    let other = KeyringStore::with_keyring("another application", Arc::clone(&keyring));
    other.save(&entry, &"secret".into()).await.expect("a writable keyring");
    let store = KeyringStore::with_keyring(SERVICE, keyring);
    assert!(store.load(&entry).await.expect("a readable keyring").is_none());
}

#[tokio::test]
async fn keyring_store_explains_errors() {
    let (store, keyring) = in_memory();
    let entry = key(EntryKind::Credentials, "https://a.example/", "");
    let mock = keyring.build(SERVICE, &entry.to_string(), None).expect("an entry");
    let mock: &mock::Cred = mock.as_any().downcast_ref().expect("an entry in memory");
    let locked = || Error::NoStorageAccess("the keyring is locked".into());
    for (error, expected) in [
        (Error::TooLong("secret".to_owned(), 2560), "the secret of the entry is longer than 2560 bytes"),
        (Error::TooLong("secret".to_owned(), 2560), "use `FileStore`"),
        (locked(), "the keyring is locked"),
    ] {
        mock.set_error(error);
        let error = store.save(&entry, &"secret-value".into()).await.expect_err("a failed keyring");
        assert!(error.to_string().contains("the system's keyring (service `mcpgen-auth test`)"), "{error}");
        let source = error.source().expect("a source").to_string();
        assert!(source.contains(expected), "{source}");
    }
    mock.set_error(locked());
    store.load(&entry).await.expect_err("a failed keyring is not a missing entry");

    // Other applications' entries may not be text. Their bytes must not be shown.
    let foreign = keyring.build(SERVICE, &entry.to_string(), None).expect("an entry");
    foreign.set_secret(&[0xff, 0x41]).expect("a writable keyring");
    let error = store.load(&entry).await.expect_err("not text");
    assert!(!format!("{error:?}").contains("255"), "{error:?}");
    assert!(error.source().expect("a source").to_string().contains("remove it"), "{error:?}");
}

/// Run this test with `--ignored` in a session with an unlocked keyring.
#[tokio::test]
#[ignore = "needs the system's keyring"]
async fn the_system_keyring_stores_entries() {
    let store = KeyringStore::new(SERVICE);
    check(&store).await;
    check_login(store.clone()).await;
    let entry = key(EntryKind::Credentials, "https://long.example/", "");
    let long = "a".repeat(100_000);
    match store.save(&entry, &long.as_str().into()).await {
        Ok(()) => {
            let loaded = store.load(&entry).await.expect("a readable keyring").expect("the entry");
            assert_eq!(loaded.expose_secret(), long);
            store.remove(&entry).await.expect("a writable keyring");
        }
        Err(error) => {
            let source = error.source().expect("a source").to_string();
            assert!(source.contains("the limit of this keyring; use `FileStore`"), "{source}");
        }
    }
}
