//! Pagination of lists with opaque cursors.

use mcpgen_types::ErrorObject;

use crate::jsonrpc::errors;

/// Returns a page of a list, and the cursor of the next page. Without a cursor, returns the first page.
///
/// A `size` of 0 counts as 1. Cursors stay valid when the list changes between pages, but the client may then see an
/// item twice or miss one.
///
/// # Errors
///
/// The cursor is invalid: this function did not return it.
pub fn page<'a, T>(list: &'a [T], cursor: Option<&str>, size: usize) -> Result<(&'a [T], Option<String>), ErrorObject> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            read(cursor).ok_or_else(|| errors::invalid_params_in_words("params.cursor: not a cursor of this list"))?
        }
    };
    let start = start.min(list.len());
    let end = start.saturating_add(size.max(1)).min(list.len());
    Ok((&list[start..end], (end < list.len()).then(|| write(end))))
}

/// Cursors are XORed with this, so that clients do not take them for offsets.
const MARK: u64 = 0x6d63_7067_656e;

fn write(start: usize) -> String {
    format!("{:x}", (start as u64) ^ MARK)
}

fn read(cursor: &str) -> Option<usize> {
    let start = usize::try_from(u64::from_str_radix(cursor, 16).ok()? ^ MARK).ok()?;
    (write(start) == cursor && start <= u32::MAX as usize).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_the_list() {
        let list: Vec<u32> = (0..10).collect();
        for size in [0, 1, 3, 5, 10, 100] {
            let (mut found, mut cursor) = (Vec::new(), None);
            loop {
                let (items, next) = page(&list, cursor.as_deref(), size).expect("a valid cursor");
                found.extend_from_slice(items);
                let Some(next) = next else { break };
                cursor = Some(next);
            }
            assert_eq!(found, list, "in pages of {size}");
        }
        for cursor in ["", "0", "10", "x", "ffffffffffffffff", "-1", "0x6d"] {
            assert!(page(&list, Some(cursor), 5).is_err(), "{cursor:?}");
        }
        assert_eq!(page::<u32>(&[], None, 5).expect("an empty page"), (&[][..], None));
    }
}
