# shellcheck shell=bash
verb_test() { die todo; }
