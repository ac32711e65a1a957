//! A crate with a protocol that is not MCP. The build script generates its types.

include!(concat!(env!("OUT_DIR"), "/protocol.include.rs"));

#[cfg(test)]
mod tests {
    use super::protocol::{ClientMessage, ClientRequest, GreetRequest, GreetRequestParams, GreetResult, Greeting};
    use mcpgen_types::{Error, Message, Request, ResponseMessage};

    #[test]
    fn messages_round_trip() -> Result<(), Error> {
        let text = r#"{"jsonrpc":"2.0","id":7,"method":"greetings/greet","params":{"name":"Ada","x-trace":[1.0]}}"#;
        let message: ClientMessage = mcpgen_types::from_str(text)?;
        assert_eq!(
            mcpgen_types::to_value(&message)?,
            serde_json::from_str::<serde_json::Value>(text).expect("valid JSON")
        );
        let Message::Request(request) = message else { panic!("expected a request") };
        let ClientRequest::Greet(request) = request.into_parts().1;
        assert_eq!(request.params.name.get(), "Ada");
        assert_eq!((GreetRequest::METHOD, GreetRequest::VERSION.as_str()), ("greetings/greet", "greetings-1"));
        Ok(())
    }

    #[test]
    fn decodes_results_by_request_type() -> Result<(), Error> {
        let result = mcpgen_types::from_str::<GreetResult>(r#"{"greetings":["hello",{"audio":"aGk="}]}"#)?;
        assert!(matches!(result.greetings.as_slice(), [Greeting::String(_), Greeting::Object(_)]));
        let response = ResponseMessage::new(7, &result);
        assert_eq!(response.decode::<GreetRequest>()?, result);
        Ok(())
    }

    #[test]
    fn errors_contain_the_path() {
        for (params, message) in [
            (r#"{"name":""}"#, "GreetRequestParams: name: "),
            (r#"{"name":"Ada","times":10}"#, "GreetRequestParams: times: "),
            (r#"{"times":1}"#, "GreetRequestParams: name: missing required member"),
        ] {
            let error = mcpgen_types::from_str::<GreetRequestParams>(params).expect_err(params).to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
