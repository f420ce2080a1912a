/** Fields of requests that make no sense: the error names the field, its value and the remedy. */
import { expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { requireFork, requireRequest, type RequestInput } from '../../src/request-input.ts';

it.each<[field: string, value: unknown, message: RegExp]>([
  ['id', '', /id is ""; give it a string/],
  ['id', 5, /id is 5; give it a string/],
  ['tokens', 5, /tokens is not a list; give an array/],
  ['tokens', 'text', /tokens is not a list/],
  ['tokens', null, /tokens is not a list/],
  ['tokens', [], /has no prompt tokens/],
  ['maxOutputTokens', 0, /maxOutputTokens is 0; use an integer/],
  ['maxOutputTokens', '4', /maxOutputTokens is "4"/],
  ['stopTokens', 5, /stopTokens is not a list/],
  ['stopTokens', [-1], /stop token -1 is no token id/],
  ['stopTokens', [1, '2'], /stop token "2" is no token id/],
  ['priority', '1', /priority is "1"; use a number/],
  ['priority', NaN, /priority is NaN/],
  ['ignoreCache', 'no', /ignoreCache is "no"; use true or false/],
  ['ignoreCache', 0, /ignoreCache is 0/],
  ['salt', 5, /salt is 5; give a string/],
  ['adapter', 5, /adapter is 5; give its name/],
  ['media', 5, /media is 5; give a list/],
  ['media', null, /media is null; give a list/],
  ['media', 'cat', /media is "cat"; give a list/],
  ['media', [5], /media 0 is 5; give an identifier/],
  ['media', [null], /media 0 is null/],
  ['media', [{ identifier: 5, offset: 0, length: 1 }], /media 0 has no identifier/],
  ['media', [{ identifier: 'cat', offset: '0', length: 1 }], /media 0 stands at 0/],
])('%s: %o is refused', (field, value, message) => {
  const input = { id: 'a', tokens: [1], [field]: value } as unknown as RequestInput;
  expect(() => requireRequest(input)).toThrow(ConfigError);
  expect(() => requireRequest(input)).toThrow(message);
});

it('what makes sense passes', () => {
  const media = [{ identifier: 'cat', offset: 0, length: 1 }];
  requireRequest({ id: 'a', tokens: Uint32Array.of(1), media, ignoreCache: true, salt: '', stopTokens: [2] });
  requireFork({ id: 'a' }, 1);
  requireFork({ id: 'a', parentTokens: 0, tokens: [1] }, 1);
});

it.each([-1, 1.5, '1', 3])('a fork with %o of 2 tokens of its parent is refused', (parentTokens) => {
  const input = { id: 'a', parentTokens } as { id: string; parentTokens: number };
  expect(() => requireFork(input, 2)).toThrow(/parentTokens is .* use an integer from 0 to the 2 tokens/);
});
