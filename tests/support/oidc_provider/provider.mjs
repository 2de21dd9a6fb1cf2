// npm's certified OpenID provider, with the people, programs and lifetimes that a test gives as JSON in its first argument.
import Provider from 'oidc-provider';

const asked = JSON.parse(process.argv[2]);
const groupsOf = (name) => asked.groups[name] ?? [];
const resource = {
  scope: 'slotcar',
  audience: asked.audience,
  accessTokenFormat: 'jwt',
  accessTokenTTL: asked.accessTokenSeconds,
  jwt: { sign: { alg: asked.algorithm } },
};

const provider = new Provider(asked.issuer, {
  clients: [
    {
      client_id: 'page', token_endpoint_auth_method: 'none', redirect_uris: [asked.redirect],
      post_logout_redirect_uris: [asked.redirect.replace('/back', '')],
    },
    {
      client_id: 'cli', token_endpoint_auth_method: 'none', redirect_uris: [], response_types: [],
      application_type: 'native',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    },
    {
      client_id: 'transfers', client_secret: asked.secret, redirect_uris: [], response_types: [],
      grant_types: ['client_credentials'],
    },
  ],
  clientDefaults: { id_token_signed_response_alg: asked.algorithm },
  jwks: { keys: asked.keys },
  cookies: { keys: ['of-a-test'] },
  scopes: ['openid', 'offline_access', 'slotcar', 'groups'],
  claims: { openid: ['sub'], groups: ['wlcg.groups'] },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, 'wlcg.groups': groupsOf(id) }) }),
  extraTokenClaims: (_ctx, token) => ({ 'wlcg.groups': groupsOf(token.accountId ?? token.clientId) }),
  features: {
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, client) => (client.clientId === 'page' ? undefined : asked.audience),
      getResourceServerInfo: () => resource,
      useGrantedResource: () => true,
    },
  },
  ttl: {
    AccessToken: asked.accessTokenSeconds, ClientCredentials: asked.accessTokenSeconds, IdToken: asked.idTokenSeconds,
    DeviceCode: asked.deviceCodeSeconds, Interaction: 600, Session: 3600, Grant: 3600, RefreshToken: 3600,
  },
});
provider.on('server_error', (_ctx, error) => console.error(error));
provider.listen(asked.port, '127.0.0.1', () => console.log('listening'));
