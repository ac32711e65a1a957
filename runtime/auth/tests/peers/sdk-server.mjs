// A server built with the official SDK, protected by its bearer middleware. Prints its URL. Argument: the issuer.

import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const issuer = process.argv[2];
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
const app = express();
const http = app.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
const url = () => `http://127.0.0.1:${http.address().port}/mcp`;

async function verifyAccessToken(token) {
  try {
    const { payload } = await jwtVerify(token, keys, { issuer, audience: url(), typ: 'at+jwt' });
    return { token, clientId: payload.client_id, scopes: payload.scope.split(' '), expiresAt: payload.exp, extra: { sub: payload.sub } };
  } catch (error) {
    throw new InvalidTokenError(error.message);
  }
}

app.get('/.well-known/oauth-protected-resource/mcp', (_, response) =>
  response.json({ resource: url(), authorization_servers: [issuer], scopes_supported: ['read'] }),
);

const protect = (request, response, next) => {
  const resourceMetadataUrl = url().replace('/mcp', '/.well-known/oauth-protected-resource/mcp');
  return requireBearerAuth({ verifier: { verifyAccessToken }, requiredScopes: ['read'], resourceMetadataUrl })(request, response, next);
};

app.post('/mcp', protect, express.json(), async (request, response) => {
  const server = new McpServer({ name: 'sdk', version: '1' });
  server.registerTool('read', {}, ({ authInfo }) => ({ content: [{ type: 'text', text: authInfo.extra.sub }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all('/mcp', protect, (_, response) => response.status(405).end());
