//! Who one is to a server.

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
            Some(user) => format!("Basic {}", base64(format!("{user}:{}", self.secret).as_bytes())),
            None => format!("Bearer {}", self.secret),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let value = (0..3).fold(0u32, |value, n| value << 8 | u32::from(group.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let digit = DIGITS[(value >> (18 - 6 * n)) as usize & 63];
            text.push(if n <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let check = |text: &str, expected| assert_eq!(base64(text.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }

    #[test]
    fn credentials_cannot_add_headers() {
        assert!(Credentials::token("ok").is_some());
        assert!(Credentials::token("a\r\nHost: b").is_none());
    }
}
