//! JSON Web Signatures and JSON Web Keys, with asymmetric algorithms only.
//!
//! `compact` reads and creates compact signatures, `sign` has private keys, and `jwk` has public keys, which verify.
//! The cryptography is ring's. There is no HMAC and no `none`, so a public key cannot be taken for a shared secret.

mod compact;
mod error;
mod jwk;
mod sign;

pub use compact::{Header, Jws};
pub use error::JoseError;
pub use jwk::{Algorithm, Jwk, JwkSet};
pub use sign::SigningKey;
