//! The URL of a cache server: `https://host:port/path`, and the schemes of other protocols.
//!
//! A URL contains no credentials, which would end up in files and messages. Its connections are encrypted, unless the host is
//! a loopback address or the user allows plaintext.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The protocol of a cache server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `https://`, `http://`: the HTTP cache protocol.
    Http,
    /// `rediss://`, `redis://`: Redis.
    Redis,
    /// `grpcs://`, `grpc://`: the Remote Execution API.
    Grpc,
    /// `s3://bucket/prefix`: Amazon S3. The endpoints of the object stores come from the environment.
    S3,
    /// `gs://bucket/prefix`: Google Cloud Storage.
    Gcs,
    /// `az://container/prefix`: Azure Blob Storage.
    Azure,
}

impl Scheme {
    /// Every URL scheme: name, protocol, encryption and default port.
    const ALL: [(&'static str, Scheme, bool, u16); 9] = [
        ("https", Scheme::Http, true, 443),
        ("http", Scheme::Http, false, 80),
        ("rediss", Scheme::Redis, true, 6379),
        ("redis", Scheme::Redis, false, 6379),
        ("grpcs", Scheme::Grpc, true, 443),
        ("grpc", Scheme::Grpc, false, 80),
        ("s3", Scheme::S3, true, 443),
        ("gs", Scheme::Gcs, true, 443),
        ("az", Scheme::Azure, true, 443),
    ];
}

/// The parsed URL of a cache server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The protocol of the scheme.
    pub scheme: Scheme,
    /// True if connections are encrypted.
    pub tls: bool,
    /// A host name, or an IP address without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The prefix of `/ac/` and `/cas/`: empty, or with a leading and without a trailing slash.
    pub path: String,
}

/// The reason that a string is not a valid [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadAddress {
    /// The URL scheme is not supported.
    Scheme,
    /// The URL contains a user or a password.
    Credentials,
    /// Connections are not encrypted, and the host is not a loopback address.
    Plain,
    /// The host, port or path is invalid.
    Malformed,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadAddress::Scheme => {
                "expected a URL that starts with https://, grpcs://, rediss://, s3://, gs:// or az://"
            }
            BadAddress::Credentials => "the URL contains a user or a password",
            BadAddress::Plain => "connections would not be encrypted, and the host is not a loopback address",
            BadAddress::Malformed => "expected a URL of the form https://host:port/path",
        })
    }
}

impl std::error::Error for BadAddress {}

impl Address {
    /// Parses a URL. `allow_plaintext` admits unencrypted connections to hosts other than loopback.
    ///
    /// # Errors
    ///
    /// The reason that the URL is not accepted.
    pub fn parse(text: &str, allow_plaintext: bool) -> Result<Address, BadAddress> {
        let (name, rest) = text.split_once("://").ok_or(BadAddress::Scheme)?;
        let known = Scheme::ALL.into_iter().find(|(known, ..)| *known == name);
        let (_, scheme, tls, default_port) = known.ok_or(BadAddress::Scheme)?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(BadAddress::Credentials);
        }
        let is_path_char = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:/".contains(&b);
        if !path.bytes().all(is_path_char) {
            return Err(BadAddress::Malformed);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or(BadAddress::Malformed)?;
                host.parse::<Ipv6Addr>().map_err(|_| BadAddress::Malformed)?;
                (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")).ok_or(BadAddress::Malformed)?)
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let port = match port {
            "" => default_port,
            port => port.parse().map_err(|_| BadAddress::Malformed)?,
        };
        let is_host_char = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
        if host.is_empty() || !host.bytes().all(is_host_char) {
            return Err(BadAddress::Malformed);
        }
        let path = path.trim_end_matches('/').to_owned();
        let address = Address { scheme, tls, host: host.to_owned(), port, path };
        if !tls && !allow_plaintext && !address.is_loopback() {
            return Err(BadAddress::Plain);
        }
        Ok(address)
    }

    /// Returns whether the host is a loopback address or `localhost`.
    pub fn is_loopback(&self) -> bool {
        let loopback = self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        loopback || self.host.eq_ignore_ascii_case("localhost")
    }

    /// Returns the host and, unless it is the default of the scheme, the port.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.known().3 == self.port { host } else { format!("{host}:{}", self.port) }
    }

    fn known(&self) -> (&'static str, Scheme, bool, u16) {
        let same = |known: &(&str, Scheme, bool, u16)| (known.1, known.2) == (self.scheme, self.tls);
        Scheme::ALL.into_iter().find(same).unwrap_or(Scheme::ALL[0])
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.known().0, self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_rejects_urls() {
        let same = |text: &str| assert_eq!(Address::parse(text, false).unwrap().to_string(), text);
        same("https://cache.example.com");
        same("https://cache.example.com:8443/team/kiln");
        same("http://localhost:8080");
        same("http://127.3.2.1/a");
        same("http://[::1]:9090/a");
        same("https://[2001:db8::1]");
        same("grpcs://cache.example.com/instance");
        same("grpc://127.0.0.1:8980");
        same("rediss://cache.example.com/kiln");
        same("redis://localhost:7000");
        same("s3://bucket/team/kiln");
        same("gs://bucket");
        same("az://container/kiln");
        let parsed = Address::parse("https://host/path//", false).unwrap();
        assert_eq!((parsed.path.as_str(), parsed.port), ("/path", 443));
        let rejects = |text: &str, why| assert_eq!(Address::parse(text, false), Err(why), "{text}");
        for text in ["", "host", "ftp://host", "HTTPS://host", "file:///etc/passwd"] {
            rejects(text, BadAddress::Scheme);
        }
        rejects("https://me:secret@host/", BadAddress::Credentials);
        rejects("http://cache.example.com", BadAddress::Plain);
        rejects("http://localhost.example.com", BadAddress::Plain);
        rejects("redis://cache.example.com", BadAddress::Plain);
        rejects("grpc://10.0.0.1:8980", BadAddress::Plain);
        for text in
            ["https://", "https://h:x", "https://h:99999", "https://h/a b", "https://h/?q", "https://[::1"]
        {
            rejects(text, BadAddress::Malformed);
        }
        rejects("https://h\r\nX: y", BadAddress::Malformed);
        assert!(Address::parse("http://cache.example.com", true).is_ok());
    }
}
