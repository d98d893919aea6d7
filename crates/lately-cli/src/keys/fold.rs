//! `--ignore-case`: values in lower case.

/// Replaces the content of `folded` by a value in lower case. Bytes that are not UTF-8 stay, except ASCII letters.
pub(super) fn fold(value: &[u8], folded: &mut Vec<u8>) {
    folded.clear();
    match str::from_utf8(value) {
        Ok(text) if !text.is_ascii() => folded.extend_from_slice(text.to_lowercase().as_bytes()),
        _ => folded.extend(value.iter().map(u8::to_ascii_lowercase)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_scripts_are_folded() {
        for (value, expected) in [
            (&b"User-17"[..], &b"user-17"[..]),
            ("ÄÖÜ Σ".as_bytes(), "äöü σ".as_bytes()),
            (b"\xffA", b"\xffa"),
        ] {
            let mut folded = b"before".to_vec();
            fold(value, &mut folded);
            assert_eq!(folded, expected);
        }
    }
}
