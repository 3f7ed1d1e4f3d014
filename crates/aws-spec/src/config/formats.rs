//! The forms that names and ids of AWS have.

/// `<prefix>-` and hexadecimal digits, of which there are 8 (old) or 17.
pub(super) fn is_id(text: &str, prefix: &str) -> bool {
    let digits = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| is_hex(digits) && matches!(digits.len(), 8 | 17))
}

/// `cr-` and 17 hexadecimal digits.
pub(super) fn is_reservation(text: &str) -> bool {
    text.strip_prefix("cr-").is_some_and(|digits| is_hex(digits) && digits.len() == 17)
}

/// `family.size`.
pub(super) fn is_instance_type(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && is_word(part);
    text.split_once('.').is_some_and(|(family, size)| is_part(family) && is_part(size))
}

/// Lower-case letters, digits and hyphens.
pub(super) fn is_word(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

/// A decimal number above zero.
pub(super) fn is_price(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let number = !whole.is_empty() && !rest.is_empty() && digits(whole) && digits(rest);
    number && text.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0')
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        for good in ["h-0123abcd", "h-0123456789abcdef0"] {
            assert!(is_id(good, "h"), "{good}");
        }
        for bad in ["", "h-", "h-0123abc", "h-0123ABCD", "i-0123abcd", "h0123abcd", "h-ghijklmn"] {
            assert!(!is_id(bad, "h"), "{bad}");
        }
        assert!(is_reservation("cr-0123456789abcdef0"));
        assert!(!is_reservation("cr-01234567"));
    }

    #[test]
    fn words_and_numbers() {
        for good in ["m6i.large", "u-6tb1.metal", "c7gn.16xlarge", "mac2-m2.metal"] {
            assert!(is_instance_type(good), "{good}");
        }
        for bad in ["", "large", ".large", "m6i.", "M6i.large", "m6i.large.x", "m6i large"] {
            assert!(!is_instance_type(bad), "{bad}");
        }
        for good in ["1", "0.05", "12.345"] {
            assert!(is_price(good), "{good}");
        }
        for bad in ["", "0", "0.00", "-1", "1.", ".5", "1,5", "1.2.3", "free"] {
            assert!(!is_price(bad), "{bad}");
        }
    }
}
