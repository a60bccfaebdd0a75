//! Credentials for a cache server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A token, or a user and a password. It has no `Debug`, so that no message contains it.
#[derive(Clone)]
pub struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) secret: String,
}

impl Credentials {
    /// Makes credentials from a token, for `Authorization: Bearer`; `None` if it has invalid characters.
    pub fn token(token: &str) -> Option<Credentials> {
        Credentials::checked(None, token)
    }

    /// Makes credentials from a user and a password, for `Authorization: Basic`; `None` if they have invalid characters.
    pub fn user(user: &str, password: &str) -> Option<Credentials> {
        Credentials::checked(Some(user).filter(|user| !user.contains(':'))?.into(), password)
    }

    fn checked(user: Option<&str>, secret: &str) -> Option<Credentials> {
        let is_printable = |text: &str| text.bytes().all(|b| (0x20..0x7f).contains(&b));
        let all = is_printable(secret) && user.is_none_or(is_printable);
        all.then(|| Credentials { user: user.map(str::to_owned), secret: secret.to_owned() })
    }

    /// Returns the value of the header `Authorization`.
    pub fn authorization(&self) -> String {
        match &self.user {
            Some(user) => format!("Basic {}", STANDARD.encode(format!("{user}:{}", self.secret))),
            None => format!("Bearer {}", self.secret),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_passwords_by_rfc_7617() {
        let credentials = Credentials::user("Aladdin", "open sesame").unwrap();
        assert_eq!(credentials.authorization(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn rejects_line_breaks() {
        assert!(Credentials::token("ok").is_some());
        assert!(Credentials::token("a\r\nHost: b").is_none());
    }
}
