// An authorization server that logs every user in as `alice` and grants all scopes. Prints its issuer.
// Its access tokens are JSON Web Tokens for the requested resource. DPoP proofs need nonces.

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

import { Provider } from 'oidc-provider';

const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  scopes: ['openid', 'offline_access', 'read', 'write'],
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: 'read write',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: Number(process.argv[2] ?? 300),
      }),
    },
  },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
});

provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith('/interaction/')) return next();
  const { prompt, params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res);
  ctx.respond = false;
  await provider.interactionFinished(ctx.req, ctx.res, await resultOf(prompt, params, session, grantId));
});

async function resultOf({ name, details }, params, session, grantId) {
  if (name === 'login') return { login: { accountId: 'alice' } };
  const known = grantId && (await provider.Grant.find(grantId));
  const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (details.missingOIDCScope) grant.addOIDCScope(details.missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return { consent: { grantId: await grant.save() } };
}

provider.on('server_error', (_, error) => console.error(error));
server.on('request', provider.callback());
console.log(issuer);
