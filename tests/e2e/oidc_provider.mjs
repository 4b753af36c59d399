// A provider of OpenID Connect for tests: the npm package oidc-provider on a free port of 127.0.0.1, with four people and no passwords.
// usage: node oidc_provider.mjs FOLDER {"redirect_uris": [...], "alg": "RS256", "secret_by": "client_secret_basic"}
// FOLDER holds node_modules. Prints one line of JSON when it is ready: {"issuer", "client", "secret", "public_client"}.
// Who signs in is named by login_hint; without it a page asks. Ends when its standard input does.

import crypto from 'node:crypto';
import http from 'node:http';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, settings] = process.argv.slice(2);
const {redirect_uris = [], alg = 'RS256', secret_by = 'client_secret_basic'} = JSON.parse(settings);
const found = createRequire(path.resolve(folder, 'package.json')).resolve('oidc-provider');
const {Provider} = await import(pathToFileURL(found));

const PEOPLE = {
  alice: {groups: ['perf', 'leads'], email: 'alice@example.com', email_verified: true},
  bob: {groups: ['visitors'], email: 'bob@example.com', email_verified: true},
  carol: {email: 'carol@example.com', email_verified: true},
  dave: {groups: ['visitors'], email: 'alice@example.com', email_verified: false},
};

function key() {
  const made = alg === 'ES256' ? crypto.generateKeyPairSync('ec', {namedCurve: 'P-256'})
                               : crypto.generateKeyPairSync('rsa', {modulusLength: 2048});
  return {...made.privateKey.export({format: 'jwk'}), kid: `the ${alg} key`, alg, use: 'sig'};
}

function client(client_id, more) {
  return {client_id, redirect_uris, response_types: ['code'], grant_types: ['authorization_code'], id_token_signed_response_alg: alg, ...more};
}

const server = http.createServer();
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const issuer = `http://127.0.0.1:${server.address().port}`;
const secret = `secret/of+the client:${crypto.randomBytes(24).toString('base64url')}`;

const provider = new Provider(issuer, {
  clients: [
    client('neurolens', {client_secret: secret, token_endpoint_auth_method: secret_by}),
    client('neurolens_public', {token_endpoint_auth_method: 'none'}),
  ],
  clientAuthMethods: [secret_by, 'none'],
  jwks: {keys: [key()]},
  enabledJWA: {idTokenSigningAlgValues: [alg]},
  cookies: {keys: [crypto.randomBytes(24).toString('hex')]},
  conformIdTokenClaims: false,
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: {openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups']},
  pkce: {required: () => true},
  features: {devInteractions: {enabled: false}},
  interactions: {url: (ctx, interaction) => `/choose/${interaction.uid}`},
  ttl: {AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600},
  findAccount: (ctx, name) => PEOPLE[name] && {accountId: name, claims: () => ({sub: name, name, ...PEOPLE[name]})},
  async loadExistingGrant(ctx) {
    const grant = new provider.Grant({clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId});
    grant.addOIDCScope('openid profile email groups');
    await grant.save();
    return grant;
  },
});

// /choose/ID asks, /choose/ID/NAME signs in, /choose/ID/nobody goes back without
async function choose(request, response) {
  const {prompt, params, uid} = await provider.interactionDetails(request, response);
  const name = new URL(request.url, issuer).pathname.split('/')[3] ?? params.login_hint;
  if (name) {
    const result = name === 'nobody' ? {error: 'access_denied', error_description: 'nobody was chosen'} : {[prompt.name]: {accountId: name}};
    await provider.interactionFinished(request, response, result);
    return;
  }
  const links = [...Object.keys(PEOPLE), 'nobody'].map((one) => `<li><a href="/choose/${uid}/${one}">${one}</a></li>`);
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><title>Who are you?</title><h1>Who are you?</h1><ul>${links.join('')}</ul>`);
}

const answer = provider.callback();
server.on('request', (request, response) => {
  if (!request.url.startsWith('/choose/')) { answer(request, response); return; }
  choose(request, response).catch((error) => { response.statusCode = 400; response.end(String(error)); });
});
provider.on('server_error', (ctx, error) => console.error(error));
for (const event of ['authorization.error', 'grant.error']) {
  provider.on(event, (ctx, error) => console.error(event, error.error, error.error_description, error.error_detail ?? ''));
}
process.stdin.on('end', () => process.exit(0)).resume();
console.log(JSON.stringify({issuer, client: 'neurolens', secret, public_client: 'neurolens_public'}));
