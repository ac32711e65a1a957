//! JSON Web Signatures and JSON Web Keys, with asymmetric algorithms only.
//!
//! `compact` parses compact signatures, `sign` creates them with private keys, and `jwk` verifies them with public
//! keys. The cryptography is ring's. HMAC and `none` are not supported, so a public key cannot be mistaken for a shared
//! secret.
//!
//! jsonwebtoken would add a second cryptography implementation next to the one that TLS uses. It allows one provider
//! per process, and panics if dependencies enable neither or both of its backends. It also accepts `crit` without
//! understanding it, and does not limit sizes, generate keys or reject private members of a `jwk` header.

mod compact;
mod error;
mod jwk;
mod sign;

pub use compact::{Header, Jws};
pub use error::JoseError;
pub use jwk::{Algorithm, Jwk, JwkSet};
pub use sign::SigningKey;
