//! Answers a server's questions with the values of `--answer`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpgen_sdk::ClientBuilder;
use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ElicitResultAction};
use mcpgen_types::{Json, JsonObject, JsonRef};

use crate::arguments::{Recipient, check_names, type_names, typed};
use crate::failure::Failure;
use crate::output::{self, quoted};

/// The user's answers by field name. Every form gets the answers to its own fields.
#[derive(Clone, Debug)]
pub(crate) struct Answers(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    answers: Vec<(String, String)>,
    used: HashSet<String>,
    /// Why a question was not answered. Only the first reason is kept.
    failure: Option<Failure>,
}

impl Answers {
    pub(crate) fn new(answers: Vec<(String, String)>) -> Result<Self, Failure> {
        check_names("--answer", &answers)?;
        Ok(Self(Arc::new(Mutex::new(State { answers, used: HashSet::new(), failure: None }))))
    }

    /// Lets a client answer questions. Without answers, the client does not declare elicitation.
    pub(crate) fn prepare(&self, client: ClientBuilder) -> ClientBuilder {
        if self.state().answers.is_empty() {
            return client;
        }
        let answers = self.clone();
        client.on_elicitation(move |_, question| std::future::ready(Ok(answers.answer(&question))))
    }

    /// Warns about answers that nobody asked for. Fails if a question was not answered.
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        let mut state = self.state();
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        for (name, _) in state.answers.iter().filter(|(name, _)| !state.used.contains(name)) {
            output::warning(&format!("--answer {name}: the server asked no question with this field"));
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, question: &ElicitRequestParams) -> ElicitResult {
        let mut state = self.state();
        let answered = match question {
            ElicitRequestParams::ElicitRequestFormParams(form) => state.fill(form),
            ElicitRequestParams::ElicitRequestUrlParams(page) => Err(Failure::Usage(format!(
                "the server asks to visit a page, which mcpgen-probe cannot do: {}",
                quoted(&page.message)
            ))),
        };
        answered.unwrap_or_else(|failure| {
            state.failure.get_or_insert(failure);
            ElicitResult::new(ElicitResultAction::Cancel)
        })
    }
}

impl State {
    fn fill(&mut self, form: &ElicitRequestFormParams) -> Result<ElicitResult, Failure> {
        let schema = Json::from(&form.requested_schema);
        let fields = schema.get("properties").map(JsonRef::members).unwrap_or_default();
        let fields: Vec<_> = fields.collect();
        let is_field = |(name, _): &&(String, String)| fields.iter().any(|(field, _)| field == name);
        let answers: Vec<_> = self.answers.iter().filter(is_field).cloned().collect();
        self.used.extend(answers.iter().map(|(name, _)| name.clone()));
        let content = typed(Recipient::Form(&form.message), &answers, Some(schema.as_ref()))?;
        if let Some(missing) = form.requested_schema.required.iter().flatten().find(|name| !content.contains_key(name))
        {
            let field = fields.iter().find(|(field, _)| field == missing);
            let expected = field.and_then(|(_, field)| type_names(*field)).unwrap_or("a value".to_owned());
            return Err(Failure::Usage(format!(
                "the server asks {}; answer it with --answer {missing}=VALUE ({expected})",
                quoted(&form.message)
            )));
        }
        let result = JsonObject::from([("action", "accept".into()), ("content", content.into())]);
        let invalid = |error| Failure::Usage(format!("the answer to {} is invalid: {error}", quoted(&form.message)));
        result.decode().map_err(invalid)
    }
}
