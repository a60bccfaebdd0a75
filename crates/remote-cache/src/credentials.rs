//! Credentials for a server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A token, or a user and a password. Nothing shows it: it has no `Debug`, and it is in no message.
#[derive(Clone)]
pub struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) secret: String,
}

impl Credentials {
    /// A token, as `Authorization: Bearer` has it.
    pub fn token(token: &str) -> Option<Credentials> {
        Credentials::checked(None, token)
    }

    /// A user and a password, as `Authorization: Basic` has them.
    pub fn user(user: &str, password: &str) -> Option<Credentials> {
        Credentials::checked(Some(user).filter(|user| !user.contains(':'))?.into(), password)
    }

    fn checked(user: Option<&str>, secret: &str) -> Option<Credentials> {
        let sound = |text: &str| text.bytes().all(|b| (0x20..0x7f).contains(&b));
        let all = sound(secret) && user.is_none_or(sound);
        all.then(|| Credentials { user: user.map(str::to_owned), secret: secret.to_owned() })
    }

    /// The value of the header `Authorization`.
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
    fn a_password_is_sent_as_rfc_7617_has_it() {
        let credentials = Credentials::user("Aladdin", "open sesame").unwrap();
        assert_eq!(credentials.authorization(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn credentials_cannot_add_headers() {
        assert!(Credentials::token("ok").is_some());
        assert!(Credentials::token("a\r\nHost: b").is_none());
    }
}
