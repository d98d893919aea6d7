//! Mends the end of a file of output, to which records are to be appended: a crash or a full disk may have cut its last
//! record off, and the next one must not be glued to it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::reading::{BLOCK_BYTES, Splitter};

/// Cuts an incomplete record off if it was written after a save, which the file had `saved` bytes at. Otherwise adds
/// what ends the record. Returns what is to be told.
pub(super) fn mend(
    mut file: &File,
    path: &Path,
    saved: Option<u64>,
    splitter: Splitter,
) -> io::Result<Option<String>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let (len, terminator) = (metadata.len(), splitter.terminator());
    if let Some(saved) = saved.filter(|saved| *saved < len) {
        let end = last_end(path, saved, splitter)?;
        if end < len {
            file.set_len(end)?;
            return Ok(Some(format!(
                "lately: {}: its last record was cut off when a run was killed or the disk was full; these {} bytes are \
                 removed",
                path.display(),
                len - end
            )));
        }
        return Ok(None);
    }
    if len == 0 || last_byte(path)? == terminator {
        return Ok(None);
    }
    file.write_all(&[terminator])?;
    // After an orderly end, it is a last line without a newline.
    let is_orderly = saved == Some(len);
    Ok((!is_orderly).then(|| {
        format!(
            "lately: {}: its last record had no end, and may be cut off; an end was added, so that the next one is not \
             glued to it",
            path.display()
        )
    }))
}

/// Returns where the last whole record ends.
fn last_end(path: &Path, from: u64, mut splitter: Splitter) -> io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let (mut at, mut last) = (from, from);
    let (mut buffer, mut ends) = (vec![0; BLOCK_BYTES], Vec::new());
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(last);
        }
        ends.clear();
        splitter.append_ends(&buffer[..read], 0, usize::MAX, &mut ends);
        last = ends.last().map_or(last, |end| at + *end as u64);
        at += read as u64;
    }
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}
