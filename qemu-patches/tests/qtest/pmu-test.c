/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters under TCG: what CPUs announce, and what is refused.
 */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"

/* The properties of a CPU model with others. */
static QDict *expand(QTestState *qts, const char *model, const char *props)
{
    QObject *p = qobject_from_json(props, NULL);

    g_assert(p);
    return qtest_qmp(qts, "{ 'execute': 'query-cpu-model-expansion', "
                     "'arguments': { 'type': 'full', "
                     "'model': { 'name': %s, 'props': %p } } }", model, p);
}

static void assert_has(QTestState *qts, const char *model, const char *props,
                       const char *name, bool expected)
{
    QDict *answer = expand(qts, model, props);
    QDict *found = qdict_get_qdict(qdict_get_qdict(answer, "return"), "model");

    found = qdict_get_qdict(found, "props");
    g_assert_cmpint(qdict_get_bool(found, name), ==, expected);
    qobject_unref(answer);
}

static void test_announced(void)
{
    QTestState *qts = qtest_init("-machine q35 -accel tcg -S");

    assert_has(qts, "EPYC", "{ 'pmu': true, 'perfctr-core': true }",
               "perfctr-core", true);
    assert_has(qts, "EPYC", "{ 'perfctr-core': true }", "perfctr-core", false);
    assert_has(qts, "EPYC", "{ 'pmu': true, 'ibs': true }", "ibs", true);
    assert_has(qts, "Skylake-Client", "{ 'pmu': true, 'ibs': true }", "ibs",
               false);
    assert_has(qts, "EPYC", "{ }", "pmu", false);
    qtest_quit(qts);
}

static void assert_refused(QTestState *qts, const char *props, const char *why)
{
    QDict *answer = expand(qts, "EPYC", props);
    QDict *error = qdict_get_qdict(answer, "error");

    g_assert(error);
    g_assert_cmpstr(qdict_get_str(error, "desc"), ==, why);
    qobject_unref(answer);
}

static void test_refused(void)
{
    QTestState *qts = qtest_init("-machine q35 -accel tcg -S");

    assert_refused(qts, "{ 'pmu': true, 'perfmon-v2': true }",
                   "perfmon-v2=on needs perfctr-core=on");
    assert_refused(qts, "{ 'pmu-version': 6 }", "pmu-version is at most 5");
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (qtest_has_accel("tcg") && qtest_has_machine("q35")) {
        qtest_add_func("/pmu/announced", test_announced);
        qtest_add_func("/pmu/refused", test_refused);
    }
    return g_test_run();
}
