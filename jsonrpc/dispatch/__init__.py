"""From a request body to the response body: the gate, parsing, methods, execution and errors."""
