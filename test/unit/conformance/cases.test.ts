/** What must hold for the list of cases and for that of deviations. */
import { describe, expect, it } from 'vitest';
import { CASES } from '../../../src/conformance/cases.ts';
import { subjectOf } from '../../../src/conformance/case.ts';
import { DEVIATIONS } from '../../../src/conformance/deviations.ts';
import { sectionAndAddress } from '../../../src/conformance/spec.ts';

describe('cases', () => {
  it('have ids of their own', () => {
    const ids = CASES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][a-z-]*\/[a-z0-9][a-z0-9-]*$/);
  });

  it('say what stands on them and where it is specified', () => {
    for (const { id, title, promise, spec } of CASES) {
      expect(title, id).not.toBe('');
      expect(promise, id).toMatch(/\.$/);
      const { section, address } = sectionAndAddress(spec);
      expect(section, id).not.toBe('');
      expect(address, id).toMatch(/^https:\/\/www\.w3\.org\/TR\/(webgpu|WGSL)\/#[\w-]+$/);
    }
  });

  it.each([
    ['copies', 256],
    ['clears', 50],
  ])('of %s are all there', (subject, count) => {
    expect(CASES.filter(({ id }) => subjectOf(id) === subject)).toHaveLength(count);
  });

  it('have 65,535, 65,536 and 65,537 workgroups along each dimension', () => {
    const ids = CASES.map(({ id }) => id);
    for (const dimension of ['x', 'y', 'z']) {
      for (const count of [65_535, 65_536, 65_537])
        expect(ids).toContain(`dispatch/${count}-along-${dimension}`);
    }
  });
});

describe('known deviations', () => {
  it('name cases that exist, and a public reference', () => {
    const ids = new Set(CASES.map(({ id }) => id));
    for (const { cases, reference, what } of DEVIATIONS) {
      for (const id of cases) expect(ids, id).toContain(id);
      expect(reference).toMatch(/^https:\/\/github\.com\/.+/);
      expect(what).not.toBe('');
    }
  });
});
