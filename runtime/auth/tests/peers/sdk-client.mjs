// A client built with the official SDK. Logs in to a server and calls its tool `read`. Argument: the server's URL.

import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const url = new URL(process.argv[2]);
const redirectUrl = 'http://127.0.0.1:7778/callback';
let code;

const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'sdk-client',
    redirect_uris: [redirectUrl],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  },
  clientInformation: () => authProvider.information,
  saveClientInformation: (information) => void (authProvider.information = information),
  tokens: () => authProvider.current,
  saveTokens: (tokens) => void (authProvider.current = tokens),
  saveCodeVerifier: (verifier) => void (authProvider.verifier = verifier),
  codeVerifier: () => authProvider.verifier,
  redirectToAuthorization: async (authorizationUrl) => void (code = await logIn(authorizationUrl)),
};

/** Follows the redirects of the authorization server, as a browser does. Returns the authorization code. */
async function logIn(target) {
  const cookies = new Map();
  for (let next = target; ; ) {
    if (next.href.startsWith(redirectUrl)) return next.searchParams.get('code');
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name, ...value] = line.split(';')[0].split('=');
      cookies.set(name, value.join('='));
    }
    const location = response.headers.get('location');
    if (!location) throw new Error(`${next.pathname}: ${response.status} ${await response.text()}`);
    next = new URL(location, next);
  }
}

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider });
  const client = new Client({ name: 'sdk-client', version: '1' });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || !code) throw error;
    await transport.finishAuth(code);
    code = undefined;
    return connect();
  }
};

const client = await connect();
const { content } = await client.callTool({ name: 'read', arguments: {} });
console.log(content[0].text);
await client.close();
