//! Redis and servers with its protocol (RESP 2): `GET`, `EXISTS` and `SET` of `<path>/ac/<key>` and `<path>/cas/<digest>`. The
//! size limit and the eviction policy are settings of the server.
//!
//! The `redis` crate is not used: its parser holds each value in memory, so a blob could not be streamed, and its timeouts
//! apply to each read, so a server that trickles would never time out. Connections
//! come from the connector chain that HTTP uses, with the same certificates and the same deadline budget.

use crate::budget::DeadlineBudget;
use crate::connection::{Exchange, chain};
use crate::credentials::Credentials;
use crate::http_client::TOO_LONG;
use crate::options::ClientOptions;
use kiln_engine::remote::Address;
use kiln_engine::remote::{Blob, Fault, Name, Remote};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, Resolver};
use ureq::unversioned::transport::time::Instant;
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, Transport};
use ureq::{Error, Timeout};

/// The longest value of Redis, in bytes.
const LONGEST_VALUE: u64 = 512 << 20;

/// The longest accepted line of the protocol, in bytes.
const LONGEST_LINE: usize = 32 << 10;

/// The longest part of an error message that is repeated, in characters.
const LONGEST_MESSAGE: usize = 120;

const NOT_RESP: Fault = Fault::Garbled("the response is not valid RESP");

/// A Redis server, as a cache server.
pub struct Redis {
    address: Address,
    credentials: Option<Credentials>,
    options: ClientOptions,
    config: OnceLock<Result<Config, String>>,
    connector: Box<dyn Connector<(), Out = Box<dyn Transport>>>,
    idle: Mutex<Vec<Connection>>,
}

/// A connection, and whether `AUTH` was sent on it.
struct Connection {
    transport: Box<dyn Transport>,
    authenticated: bool,
}

/// A reply; the bytes of a bulk string are written to a writer.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Simple,
    Integer(i64),
    Nil,
    Bulk,
}

/// The value of a `SET` command.
#[derive(Clone, Copy)]
enum Value<'a> {
    None,
    Bytes(&'a [u8]),
    File(&'a File, u64),
}

impl Value<'_> {
    fn len(&self) -> u64 {
        match self {
            Value::None => 0,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::File(_, len) => *len,
        }
    }
}

impl Redis {
    /// Makes a client of the server at an address, with the default options. Nothing is sent yet.
    pub fn new(address: Address, credentials: Option<Credentials>) -> Redis {
        Redis::with_options(address, credentials, ClientOptions::default())
    }

    /// Makes a client of the server at an address. Headers and the proxy do not apply. Nothing is sent yet.
    pub fn with_options(address: Address, credentials: Option<Credentials>, options: ClientOptions) -> Redis {
        Redis {
            address,
            credentials,
            options,
            config: OnceLock::new(),
            connector: Box::new(chain()),
            idle: Mutex::default(),
        }
    }

    fn key(&self, name: Name) -> String {
        let path = self.address.path.trim_start_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{path}{slash}{}/{}", name.kind(), name.hash())
    }

    /// Sends a command and reads its reply; a bulk string of up to `limit` bytes is written to `into`.
    fn call(
        &self,
        command: &str,
        name: Name,
        value: Value<'_>,
        (limit, into): (u64, &mut dyn Write),
        worth: Duration,
    ) -> Result<Reply, Fault> {
        let budget = DeadlineBudget::new(self.options.limits.timeout, limit.max(value.len()), worth);
        let exchange = Exchange::new(budget);
        let key = self.key(name);
        exchange.run(|| {
            let pooled = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let sent = pooled.and_then(|mut connection| {
                // Unexpected bytes make a connection unusable, as its end does.
                let open = connection.transport.is_open();
                open.then(|| {
                    self.send(&mut connection, &exchange, command, &key, value)
                        .map(|first| (first, connection))
                })
            });
            let (first, mut connection) = match sent {
                // A server may close an idle connection at any time.
                None | Some(Err(Fault::Broken(_))) => {
                    let mut connection = self.connect(&exchange)?;
                    let first = self.send(&mut connection, &exchange, command, &key, value)?;
                    (first, connection)
                }
                Some(sent) => sent?,
            };
            let reply = connection.reply(&exchange, &first, limit, into)?;
            self.release(connection);
            Ok(reply)
        })
    }

    /// Authenticates if necessary, sends a command and reads the first line of its reply.
    fn send(
        &self,
        connection: &mut Connection,
        exchange: &Exchange,
        command: &str,
        key: &str,
        value: Value<'_>,
    ) -> Result<String, Fault> {
        if let Some(Credentials { user, secret }) =
            self.credentials.as_ref().filter(|_| !connection.authenticated)
        {
            let words = [Some("AUTH"), user.as_deref(), Some(secret)];
            let words: Vec<&[u8]> = words.into_iter().flatten().map(str::as_bytes).collect();
            connection.command(exchange, &words, Value::None)?;
            let line = connection.line(exchange)?;
            connection.reply(exchange, &line, 0, &mut std::io::sink())?;
            connection.authenticated = true;
        }
        connection.command(exchange, &[command.as_bytes(), key.as_bytes()], value)?;
        connection.line(exchange)
    }

    /// Returns a connection to the pool, unless it has unread bytes, which would be taken for the next reply.
    fn release(&self, mut connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.transport.buffers().input().is_empty() && idle.len() < self.options.limits.connections {
            idle.push(connection);
        }
    }

    fn connect(&self, exchange: &Exchange) -> Result<Connection, Fault> {
        let config = self.config.get_or_init(|| self.options.config(self.address.tls, false));
        let config = config.as_ref().map_err(|why| Fault::Unreachable(why.clone()))?;
        let scheme = if self.address.tls { "https" } else { "http" };
        let host = if self.address.host.contains(':') {
            format!("[{}]", self.address.host)
        } else {
            self.address.host.clone()
        };
        let uri: Uri = format!("{scheme}://{host}:{}/", self.address.port)
            .parse()
            .map_err(|_| Fault::Unreachable("the address is invalid".to_owned()))?;
        let after = self.options.limits.timeout.into();
        let timeout = NextTimeout { after, reason: Timeout::Connect, ..NextTimeout::default() };
        let resolver = DefaultResolver::default();
        let connect = || {
            let details = ConnectionDetails {
                uri: &uri,
                addrs: resolver.resolve(&uri, config, timeout)?,
                config,
                request_level: false,
                resolver: &resolver,
                now: Instant::now(),
                timeout,
                current_time: Arc::new(Instant::now),
                run_connector: Arc::new(|_| Err(Error::ConnectionFailed)),
                register_shutdown: Arc::new(|_| Ok(())),
            };
            self.connector.connect(&details, None)?.ok_or(Error::ConnectionFailed)
        };
        let transport = connect().map_err(|error| exchange.fault(error))?;
        Ok(Connection { transport, authenticated: false })
    }
}

impl Connection {
    fn transmit(&mut self, exchange: &Exchange, mut bytes: &[u8]) -> Result<(), Fault> {
        while !bytes.is_empty() {
            let output = self.transport.buffers().output();
            let n = bytes.len().min(output.len());
            output[..n].copy_from_slice(&bytes[..n]);
            let sent = self.transport.transmit_output(n, NextTimeout::default());
            sent.map_err(|error| exchange.fault(error))?;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Sends a command whose last argument is the value.
    fn command(&mut self, exchange: &Exchange, words: &[&[u8]], value: Value<'_>) -> Result<(), Fault> {
        let has_value = !matches!(value, Value::None);
        let mut head = format!("*{}\r\n", words.len() + usize::from(has_value)).into_bytes();
        for word in words {
            head.extend(format!("${}\r\n", word.len()).bytes());
            head.extend(*word);
            head.extend(b"\r\n");
        }
        if has_value {
            head.extend(format!("${}\r\n", value.len()).bytes());
        }
        self.transmit(exchange, &head)?;
        match value {
            Value::None => return Ok(()),
            Value::Bytes(bytes) => self.transmit(exchange, bytes)?,
            Value::File(mut file, len) => {
                let disk = |e: std::io::Error| Fault::Disk(e.to_string());
                file.seek(SeekFrom::Start(0)).map_err(disk)?;
                let (mut left, mut buffer) = (len, vec![0; 64 << 10]);
                while left > 0 {
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                    file.read_exact(&mut buffer[..n]).map_err(disk)?;
                    self.transmit(exchange, &buffer[..n])?;
                    left -= n as u64;
                }
            }
        }
        self.transmit(exchange, b"\r\n")
    }

    /// Receives more bytes.
    fn receive(&mut self, exchange: &Exchange) -> Result<(), Fault> {
        match self.transport.await_input(NextTimeout::default()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::Broken("the connection was closed".to_owned())),
            Err(error) => Err(exchange.fault(error)),
        }
    }

    /// Reads a line, without its terminator.
    fn line(&mut self, exchange: &Exchange) -> Result<String, Fault> {
        loop {
            let input = self.transport.buffers().input();
            if let Some(at) = input.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&input[..at]).into_owned();
                self.transport.buffers().input_consume(at + 2);
                return Ok(line);
            }
            if input.len() > LONGEST_LINE {
                return Err(NOT_RESP);
            }
            self.receive(exchange)?;
        }
    }

    /// Reads the rest of a reply after its first line.
    fn reply(
        &mut self,
        exchange: &Exchange,
        first: &str,
        limit: u64,
        into: &mut dyn Write,
    ) -> Result<Reply, Fault> {
        let (kind, rest) = first.split_at_checked(1).ok_or(NOT_RESP)?;
        let number = || rest.parse::<i64>().map_err(|_| NOT_RESP);
        match kind {
            "+" => Ok(Reply::Simple),
            ":" => number().map(Reply::Integer),
            "-" => {
                let message = rest.chars().filter(|c| !c.is_control()).take(LONGEST_MESSAGE).collect();
                Err(Fault::Refused(message))
            }
            "$" => {
                let Ok(len) = u64::try_from(number()?) else { return Ok(Reply::Nil) };
                if len > limit {
                    return Err(TOO_LONG);
                }
                let mut left = len;
                while left > 0 {
                    if self.transport.buffers().input().is_empty() {
                        self.receive(exchange)?;
                    }
                    let input = self.transport.buffers().input();
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    into.write_all(&input[..n]).map_err(|e| Fault::Disk(e.to_string()))?;
                    self.transport.buffers().input_consume(n);
                    left -= n as u64;
                }
                if self.line(exchange)?.is_empty() { Ok(Reply::Bulk) } else { Err(NOT_RESP) }
            }
            _ => Err(NOT_RESP),
        }
    }
}

impl Remote for Redis {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        let mut bytes = Vec::new();
        match self.call("GET", name, Value::None, (limit, &mut bytes), worth)? {
            Reply::Bulk => Ok(Some(bytes)),
            Reply::Nil => Ok(None),
            _ => Err(NOT_RESP),
        }
    }

    fn get_to(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        match self.call("GET", Name::Blob(blob), Value::None, (blob.len, into), worth)? {
            Reply::Bulk => Ok(true),
            Reply::Nil => Ok(false),
            _ => Err(NOT_RESP),
        }
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        match self.call("EXISTS", name, Value::None, (0, &mut std::io::sink()), Duration::ZERO)? {
            Reply::Integer(count) => Ok(count > 0),
            _ => Err(NOT_RESP),
        }
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        self.set(name, Value::Bytes(bytes))
    }

    fn put_from(&self, blob: Blob, file: &File) -> Result<(), Fault> {
        self.set(Name::Blob(blob), Value::File(file, blob.len))
    }

    fn name(&self) -> String {
        self.address.to_string()
    }
}

impl Redis {
    fn set(&self, name: Name, value: Value<'_>) -> Result<(), Fault> {
        // Redis closes the connection on a longer value.
        if value.len() > LONGEST_VALUE {
            return Err(Fault::TooLarge);
        }
        self.call("SET", name, value, (0, &mut std::io::sink()), Duration::ZERO).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::Hash;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// Accepts a connection, sends the responses and returns the commands.
    fn serve(listener: &TcpListener, responses: &[&[u8]]) -> Vec<u8> {
        respond(&listener.accept().unwrap().0, responses)
    }

    fn respond(mut stream: &TcpStream, responses: &[&[u8]]) -> Vec<u8> {
        let mut received = Vec::new();
        for response in responses {
            let mut reader = BufReader::new(stream);
            let number = |reader: &mut BufReader<_>, mark: char| {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                line.trim_end().strip_prefix(mark).unwrap().parse::<usize>().unwrap()
            };
            let mut words = Vec::new();
            for _ in 0..number(&mut reader, '*') {
                let len = number(&mut reader, '$');
                let mut word = vec![0; len + 2];
                reader.read_exact(&mut word).unwrap();
                words.push(word[..len].to_vec());
            }
            received.extend(words.join(b" ".as_slice()));
            received.push(b'\n');
            stream.write_all(response).unwrap();
        }
        received
    }

    fn exchange<T: Send>(
        credentials: Option<Credentials>,
        responses: &[&[u8]],
        what: impl FnOnce(&Redis) -> T,
    ) -> (T, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/team", listener.local_addr().unwrap());
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve(&listener, responses));
            let result = what(&Redis::new(Address::parse(&url, false).unwrap(), credentials));
            (result, String::from_utf8(server.join().unwrap()).unwrap())
        })
    }

    #[test]
    fn sends_redis_commands() {
        let hash = Hash::of(b"x");
        let (record, blob) = (Name::Record(hash), Name::Blob(Blob { hash, len: 3 }));
        let responses: [&[u8]; 5] = [b"+OK\r\n", b"$-1\r\n", b"$3\r\na\r\n\r\n", b":1\r\n", b"+OK\r\n"];
        let (results, received) = exchange(Credentials::user("me", "pw"), &responses, |redis| {
            let got = redis.get(record, 9, Duration::ZERO);
            let bytes = redis.get(blob, 3, Duration::ZERO);
            (got, bytes, redis.has(blob), redis.put(record, b"four"))
        });
        assert_eq!(results, (Ok(None), Ok(Some(b"a\r\n".to_vec())), Ok(true), Ok(())));
        let expected = format!(
            "AUTH me pw\nGET team/ac/{hash}\nGET team/cas/{hash}\nEXISTS team/cas/{hash}\nSET team/ac/{hash} four\n"
        );
        assert_eq!(received, expected);
    }

    #[test]
    fn does_not_reuse_a_connection_with_unread_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        std::thread::scope(|scope| {
            // An unsolicited second reply would be taken for the reply to the next command.
            scope.spawn(|| {
                // The first connection stays open meanwhile.
                let (first, _) = listener.accept().unwrap();
                respond(&first, &[b"$-1\r\n$3\r\nbad\r\n"]);
                serve(&listener, &[b"$4\r\ngood\r\n"]);
            });
            let redis = Redis::new(Address::parse(&url, false).unwrap(), None);
            let get = |name: &[u8]| redis.get(Name::Record(Hash::of(name)), 10, Duration::ZERO);
            let replies = [get(b"first"), get(b"second")];
            // Unblocks the server if no second connection was made.
            drop(TcpStream::connect(listener.local_addr().unwrap()));
            assert_eq!(replies, [Ok(None), Ok(Some(b"good".to_vec()))]);
        });
    }

    #[test]
    fn streams_blobs_and_rejects_values_over_the_limit() {
        let bytes = vec![7; 200_000];
        let blob = Blob::of(&bytes);
        let reply = [format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
        let (results, received) = exchange(None, &[b"+OK\r\n", &reply], |redis| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let too_large = Blob { len: LONGEST_VALUE + 1, ..blob };
            assert_eq!(redis.put_from(too_large, &file), Err(Fault::TooLarge));
            let mut received = Vec::new();
            (redis.put_from(blob, &file), redis.get_to(blob, &mut received, Duration::ZERO), received)
        });
        assert!(results == (Ok(()), Ok(true), bytes.clone()));
        assert_eq!(received.bytes().filter(|byte| *byte == 7).count(), bytes.len());
    }

    #[test]
    fn reports_errors_and_invalid_replies() {
        let get = |response: &[u8]| {
            exchange(None, &[response], |redis| redis.get(Name::Record(Hash::of(b"x")), 10, Duration::ZERO)).0
        };
        let refused = |text: &str| Err(Fault::Refused(text.to_owned()));
        assert_eq!(get(b"-NOAUTH Authentication required.\r\n"), refused("NOAUTH Authentication required."));
        assert_eq!(get(b"$11\r\nhello world\r\n"), Err(TOO_LONG));
        for bad in [b"$x\r\n".as_slice(), b"HTTP/1.1 400\r\n", b"+OK\r\n", b"\r\n"] {
            assert!(matches!(get(bad), Err(Fault::Garbled(_))), "{bad:?}");
        }
        assert!(matches!(get(b"$5\r\nabc"), Err(Fault::Broken(_))));
    }
}
