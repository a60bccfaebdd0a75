//! A Redis server, or one that speaks its protocol (RESP 2): `GET`, `EXISTS` and `SET` of `<path>/ac/<key>` and
//! `<path>/cas/<digest>`. How much it keeps and what it drops is set on the server.

use super::address::Address;
use super::credentials::Credentials;
use super::patience::Patience;
use super::pool::Pool;
use super::wire::Wire;
use super::{Fault, Name, Remote};
use std::time::Duration;

/// What it has no room for in one value.
const LONGEST_VALUE: usize = 512 << 20;

/// How much of what it says is repeated.
const LONGEST_WORD: usize = 120;

/// A Redis server.
pub struct Redis {
    pool: Pool,
    credentials: Option<Credentials>,
}

/// What it answers.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Said,
    Number(i64),
    Nothing,
    Bytes(Vec<u8>),
}

impl Redis {
    /// A server at an address. Nothing is sent yet.
    pub fn new(address: Address, credentials: Option<Credentials>) -> Redis {
        Redis { pool: Pool::new(address), credentials }
    }

    fn key(&self, name: Name) -> String {
        let path = self.pool.address().path.trim_start_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{path}{slash}{}/{}", name.kind(), name.hash())
    }

    fn ask(
        &self,
        command: &str,
        name: Name,
        value: Option<&[u8]>,
        limit: u64,
        worth: Duration,
    ) -> Result<Reply, Fault> {
        let mut patience = Patience::new(limit.max(value.map_or(0, |value| value.len() as u64)), worth);
        let key = self.key(name);
        let (reply, wire) = self.pool.on_wire(&mut patience, |wire, patience| {
            self.greet(wire, patience)?;
            let words = [Some(command.as_bytes()), Some(key.as_bytes()), value];
            say(wire, &words.into_iter().flatten().collect::<Vec<_>>(), patience)?;
            read(wire, limit, patience)
        })?;
        self.pool.keep(wire);
        Ok(reply)
    }

    /// Says who we are, once on each connection.
    fn greet(&self, wire: &mut Wire, patience: &mut Patience) -> Result<(), Fault> {
        let Some(Credentials { user, secret }) = self.credentials.as_ref().filter(|_| !wire.known) else {
            return Ok(());
        };
        let words = [Some("AUTH"), user.as_deref(), Some(secret)];
        say(wire, &words.into_iter().flatten().map(str::as_bytes).collect::<Vec<_>>(), patience)?;
        read(wire, 0, patience)?;
        wire.known = true;
        Ok(())
    }
}

impl Remote for Redis {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        match self.ask("GET", name, None, limit, worth)? {
            Reply::Bytes(bytes) => Ok(Some(bytes)),
            Reply::Nothing => Ok(None),
            _ => Err(Fault::Garbled(NONSENSE)),
        }
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        match self.ask("EXISTS", name, None, 0, Duration::ZERO)? {
            Reply::Number(count) => Ok(count > 0),
            _ => Err(Fault::Garbled(NONSENSE)),
        }
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        // It takes no more, and says so by closing the connection.
        if bytes.len() > LONGEST_VALUE {
            return Ok(());
        }
        self.ask("SET", name, Some(bytes), 0, Duration::ZERO).map(drop)
    }

    fn name(&self) -> String {
        self.pool.address().to_string()
    }
}

const NONSENSE: &str = "its response is not what Redis answers";

/// Sends a command; the last word may be long.
fn say(wire: &mut Wire, words: &[&[u8]], patience: &mut Patience) -> Result<(), Fault> {
    let mut head = format!("*{}\r\n", words.len()).into_bytes();
    let (last, first) = words.split_last().ok_or(Fault::Garbled(NONSENSE))?;
    for word in first {
        head.extend(format!("${}\r\n", word.len()).bytes());
        head.extend(*word);
        head.extend(b"\r\n");
    }
    head.extend(format!("${}\r\n", last.len()).bytes());
    wire.send(&head, last, patience)?;
    wire.send(b"\r\n", &[], patience)
}

fn read(wire: &mut Wire, limit: u64, patience: &mut Patience) -> Result<Reply, Fault> {
    let line = wire.line(patience)?;
    let (kind, rest) = line.split_at_checked(1).ok_or(Fault::Garbled(NONSENSE))?;
    let number = || rest.parse::<i64>().map_err(|_| Fault::Garbled(NONSENSE));
    match kind {
        "+" => Ok(Reply::Said),
        ":" => number().map(Reply::Number),
        "-" => {
            let word: String = rest.chars().filter(|c| !c.is_control()).take(LONGEST_WORD).collect();
            Err(Fault::Refused(word))
        }
        "$" => {
            let Ok(len) = u64::try_from(number()?) else { return Ok(Reply::Nothing) };
            if len > limit {
                return Err(Fault::Garbled("it sends more than it should"));
            }
            let mut bytes = Vec::new();
            if !wire.take(len, &mut bytes, patience)? {
                return Err(Fault::Broken("it closed the connection in the middle".to_owned()));
            }
            match wire.line(patience)?.as_str() {
                "" => Ok(Reply::Bytes(bytes)),
                _ => Err(Fault::Garbled(NONSENSE)),
            }
        }
        _ => Err(Fault::Garbled(NONSENSE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;
    use crate::remote::Blob;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    /// Reads commands, with their words after each other, and answers in turn.
    fn serve(listener: &TcpListener, answers: &[&[u8]]) -> Vec<u8> {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        for answer in answers {
            let mut reader = BufReader::new(&stream);
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
            heard.extend(words.join(b" ".as_slice()));
            heard.push(b'\n');
            stream.write_all(answer).unwrap();
        }
        heard
    }

    fn talk<T: Send>(
        credentials: Option<Credentials>,
        answers: &[&[u8]],
        what: impl FnOnce(&Redis) -> T,
    ) -> (T, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/team", listener.local_addr().unwrap());
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve(&listener, answers));
            let result = what(&Redis::new(Address::parse(&url, false).unwrap(), credentials));
            (result, String::from_utf8(server.join().unwrap()).unwrap())
        })
    }

    #[test]
    fn commands_are_those_of_redis() {
        let hash = Hash::of(b"x");
        let (record, blob) = (Name::Record(hash), Name::Blob(Blob { hash, len: 3 }));
        let answers: [&[u8]; 5] = [b"+OK\r\n", b"$-1\r\n", b"$3\r\na\r\n\r\n", b":1\r\n", b"+OK\r\n"];
        let (results, heard) = talk(Credentials::user("me", "pw"), &answers, |redis| {
            let got = redis.get(record, 9, Duration::ZERO);
            let bytes = redis.get(blob, 3, Duration::ZERO);
            (got, bytes, redis.has(blob), redis.put(record, b"four"))
        });
        assert_eq!(results, (Ok(None), Ok(Some(b"a\r\n".to_vec())), Ok(true), Ok(())));
        let expected = format!(
            "AUTH me pw\nGET team/ac/{hash}\nGET team/cas/{hash}\nEXISTS team/cas/{hash}\nSET team/ac/{hash} four\n"
        );
        assert_eq!(heard, expected);
    }

    #[test]
    fn what_it_refuses_or_garbles_is_a_fault() {
        let ask = |answer: &[u8]| {
            talk(None, &[answer], |redis| redis.get(Name::Record(Hash::of(b"x")), 10, Duration::ZERO)).0
        };
        let refused = |text: &str| Err(Fault::Refused(text.to_owned()));
        assert_eq!(ask(b"-NOAUTH Authentication required.\r\n"), refused("NOAUTH Authentication required."));
        for bad in [b"$11\r\nhello world\r\n".as_slice(), b"$x\r\n", b"HTTP/1.1 400\r\n", b"+OK\r\n", b"\r\n"]
        {
            assert!(matches!(ask(bad), Err(Fault::Garbled(_))), "{bad:?}");
        }
        assert!(matches!(ask(b"$5\r\nabc"), Err(Fault::Broken(_))));
    }
}
