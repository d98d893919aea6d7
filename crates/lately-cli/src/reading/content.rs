//! What is in a file: text, or text that gzip or zstd has compressed. Its first bytes tell, not its name.

use std::fs::File;
use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The first bytes of zstd's frames that have no content; only the lowest four bits vary.
const SKIPPED: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

pub(super) enum Content {
    Plain(File),
    Gzip(Box<MultiGzDecoder<Source>>),
    Zstd(Box<Frames>),
}

/// What the first bytes of a file tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Gzip,
    Zstd,
    /// More bytes are needed.
    Unknown,
}

impl Kind {
    pub(super) fn of(first: &[u8]) -> Self {
        match first {
            _ if first.starts_with(GZIP) => Self::Gzip,
            _ if first.starts_with(ZSTD) => Self::Zstd,
            _ if GZIP.starts_with(first) || ZSTD.starts_with(first) => Self::Unknown,
            _ => Self::Plain,
        }
    }
}

impl Content {
    /// Reads on as content of this kind. `first` is what was read so far.
    pub(super) fn decompressed(self, kind: Kind, first: &[u8]) -> Self {
        match (self, kind) {
            (Self::Plain(file), Kind::Gzip) => {
                Self::Gzip(Box::new(MultiGzDecoder::new(Source::new(file, first))))
            }
            (Self::Plain(file), Kind::Zstd) => {
                Self::Zstd(Box::new(Frames { source: Some(Source::new(file, first)), frame: None }))
            }
            (content, _) => content,
        }
    }

    /// Returns the file if all that is read from it is passed on at once, so that waiting for it makes sense.
    pub(super) fn plain_file(&self) -> Option<&File> {
        if let Self::Plain(file) = self { Some(file) } else { None }
    }
}

impl Read for Content {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(room),
            Self::Gzip(decoder) => decoder.read(room),
            Self::Zstd(frames) => frames.read(room),
        }
    }
}

/// A file of which some bytes have been read and put back.
pub(super) struct Source {
    /// In reverse order.
    put_back: Vec<u8>,
    file: BufReader<File>,
}

impl Source {
    fn new(file: File, first: &[u8]) -> Self {
        let mut source = Self { put_back: Vec::new(), file: BufReader::with_capacity(64 << 10, file) };
        source.put_back(first);
        source
    }

    fn put_back(&mut self, bytes: &[u8]) {
        self.put_back.extend(bytes.iter().rev());
    }

    /// Reads this many bytes, or fewer at the end.
    fn read_up_to(&mut self, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.put_back.is_empty() {
            return self.file.read(room);
        }
        let len = room.len().min(self.put_back.len());
        for byte in &mut room[..len] {
            *byte = self.put_back.pop().unwrap_or_default();
        }
        Ok(len)
    }
}

/// The frames of a zstd file, one after the other.
pub(super) struct Frames {
    /// Between two frames.
    source: Option<Source>,
    frame: Option<StreamingDecoder<Source, FrameDecoder>>,
}

impl Frames {
    /// Starts the next frame; returns false if none is left.
    fn start(&mut self, mut source: Source) -> io::Result<bool> {
        loop {
            let first = source.read_up_to(4)?;
            match first[..] {
                [] => return Ok(false),
                [byte, second, third, fourth] if [byte & 0xf0, second, third, fourth] == SKIPPED => {
                    let len = source.read_up_to(4)?;
                    let len = <[u8; 4]>::try_from(len).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                    let len = u64::from(u32::from_le_bytes(len));
                    if io::copy(&mut (&mut source).take(len), &mut io::sink())? < len {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                _ => {
                    source.put_back(&first);
                    self.frame = Some(StreamingDecoder::new(source).map_err(io::Error::other)?);
                    return Ok(true);
                }
            }
        }
    }
}

impl Read for Frames {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(room)?;
                if read > 0 || room.is_empty() {
                    return Ok(read);
                }
            }
            if let Some(frame) = self.frame.take() {
                let (source, decoder) = frame.into_parts();
                let expected = decoder.get_checksum_from_data();
                if expected.is_some() && expected != decoder.get_calculated_checksum() {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "a zstd frame is damaged: its checksum is wrong",
                    ));
                }
                self.source = Some(source);
            }
            let Some(source) = self.source.take() else { return Ok(0) };
            if !self.start(source)? {
                return Ok(0);
            }
        }
    }
}
