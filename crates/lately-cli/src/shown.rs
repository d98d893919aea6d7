//! Bytes of the input in messages: short, and without characters that a terminal would obey.

/// Formats at most this many bytes.
pub(crate) fn shown(text: &[u8], most: usize) -> String {
    let is_cut = text.len() > most;
    let shown = String::from_utf8_lossy(&text[..text.len().min(most)]);
    let end = if is_cut { "..." } else { "" };
    shown.replace(char::is_control, "\u{fffd}") + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_and_control_characters_are_replaced() {
        assert_eq!(shown(b"id,\x1b[2Jname", 60), "id,\u{fffd}[2Jname");
        assert_eq!(shown(&b"x".repeat(1 << 20), 5), "xxxxx...");
        assert_eq!(shown("aé".as_bytes(), 2), "a\u{fffd}...");
    }
}
