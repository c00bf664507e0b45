//! Questions of servers, which both eras write the same way.

use serde::Deserialize;
use serde_json::value::RawValue;
use zot_conversation::{Answer, JsonObject, Question, QuestionKind};

/// Limit: the question is refused.
const MAX_QUESTION_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
struct ElicitParams<'a> {
    mode: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(rename = "requestedSchema", borrow)]
    schema: Option<&'a RawValue>,
    url: Option<String>,
}

/// Reads the parameters of `elicitation/create`.
pub(crate) fn parse_question(server: &str, params: &RawValue) -> Result<Question, String> {
    if params.get().len() > MAX_QUESTION_BYTES {
        return Err(format!(
            "a question may have {MAX_QUESTION_BYTES} bytes, not {}",
            params.get().len()
        ));
    }
    let params: ElicitParams<'_> =
        serde_json::from_str(params.get()).map_err(|error| error.to_string())?;
    let kind = match (params.mode.as_deref(), params.url) {
        (Some("url"), Some(url)) => QuestionKind::Url {
            url: checked_url(url)?,
        },
        (Some("url"), None) => return Err("url is missing".to_owned()),
        (None | Some("form"), _) => {
            let schema = match params.schema {
                Some(schema) => JsonObject::try_from(schema).map_err(|error| error.to_string())?,
                None => JsonObject::parse(r#"{"type":"object","properties":{}}"#)
                    .map_err(|error| error.to_string())?,
            };
            QuestionKind::Form { schema }
        }
        (Some(mode), _) => return Err(format!("unknown mode {mode:?}")),
    };
    Ok(Question {
        origin: server.to_owned(),
        message: params.message,
        kind,
    })
}

/// Accepts addresses of web pages only: others could start programs.
fn checked_url(url: String) -> Result<String, String> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if is_web && !url.contains(|character: char| character.is_control() || character == ' ') {
        Ok(url)
    } else {
        Err("expected an http or https address".to_owned())
    }
}

/// Returns an answer as servers read it.
pub(crate) fn answer_json(answer: &Answer) -> String {
    match answer {
        Answer::Accept {
            content: Some(content),
        } => {
            let content = content.as_str();
            format!(r#"{{"action":"accept","content":{content}}}"#)
        }
        Answer::Accept { content: None } => r#"{"action":"accept"}"#.to_owned(),
        Answer::Decline => r#"{"action":"decline"}"#.to_owned(),
        Answer::Cancel => r#"{"action":"cancel"}"#.to_owned(),
    }
}
