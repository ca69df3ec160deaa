//! Fills templates of HTML.

/// Replaces `{{name}}` by the escaped value of that name, and `{{&name}}` by the value as it is, which must be HTML.
/// Values are not searched for placeholders.
pub(super) fn render(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut html = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((placeholder, rest)) = part.split_once("}}") else { continue };
        let name = placeholder.strip_prefix('&').unwrap_or(placeholder);
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        if placeholder == name {
            html.push_str(&escape(value));
        } else {
            html.push_str(value);
        }
        html.push_str(rest);
    }
    html
}

/// Returns a text as it is written in HTML, between tags or in a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_and_not_searched() {
        let values = [("a", "<b title=\"'&\">"), ("b", "{{a}}"), ("c", "<i>")];
        let html = render("x{{a}}-{{b}}-{{&c}}-{{missing}}y", &values);
        assert_eq!(html, "x&lt;b title=&quot;&#39;&amp;&quot;&gt;-{{a}}-<i>-y");
    }
}
