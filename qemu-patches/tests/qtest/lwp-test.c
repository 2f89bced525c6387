/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD Lightweight Profiling: CPU properties, statistics, state in a stream.
 */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"

#define MACHINE "-machine q35 -accel tcg -S -cpu EPYC,check=off,lwp=on "

/* The first CPU. */
static char *cpu_path(QTestState *qts)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'query-cpus-fast' }");
    QList *cpus = qdict_get_qlist(answer, "return");
    QDict *cpu = qobject_to(QDict, qlist_peek(cpus));
    char *path = g_strdup(qdict_get_str(cpu, "qom-path"));

    qobject_unref(answer);
    return path;
}

static char *cpu_string(QTestState *qts, const char *name)
{
    g_autofree char *path = cpu_path(qts);
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': "
                              "{ 'path': %s, 'property': %s } }", path, name);
    char *value = g_strdup(qdict_get_str(answer, "return"));

    qobject_unref(answer);
    return value;
}

static void assert_property(QTestState *qts, const char *name,
                            const char *expected)
{
    g_autofree char *value = cpu_string(qts, name);

    g_assert_cmpstr(value, ==, expected);
}

static void test_properties(void)
{
    QTestState *qts = qtest_init(MACHINE);

    assert_property(qts, "lwp-rev", "43724");
    assert_property(qts, "lwp-context", "auto");
    assert_property(qts, "lwp-profile", "full");
    assert_property(qts, "lwp-delivery", "exact");
    assert_property(qts, "x-lwp-state", "off");
    qtest_quit(qts);
}

/* What CPUID says comes from the properties of the expansion. */
static QDict *expand(QTestState *qts, const char *props)
{
    QObject *p = qobject_from_json(props, NULL);

    g_assert(p);
    return qtest_qmp(qts, "{ 'execute': 'query-cpu-model-expansion', "
                     "'arguments': { 'type': 'full', "
                     "'model': { 'name': 'EPYC', 'props': %p } } }", p);
}

static QDict *props_of(QDict *answer)
{
    return qdict_get_qdict(qdict_get_qdict(qdict_get_qdict(answer, "return"),
                                           "model"), "props");
}

static void test_cpuid(void)
{
    QTestState *qts = qtest_init("-machine q35 -accel tcg -S");
    QDict *answer = expand(qts, "{ }");

    g_assert_false(qdict_get_bool(props_of(answer), "lwp"));
    qobject_unref(answer);

    answer = expand(qts, "{ 'lwp': true, 'lwp-max-events': 2 }");
    g_assert_true(qdict_get_bool(props_of(answer), "lwp"));
    g_assert_true(qdict_get_bool(props_of(answer), "lwp-val"));
    g_assert_true(qdict_get_bool(props_of(answer), "lwp-ire"));
    g_assert_false(qdict_get_bool(props_of(answer), "lwp-bre"));
    g_assert_cmpint(qdict_get_int(props_of(answer), "lwp-max-events"), ==, 2);
    qobject_unref(answer);

    answer = expand(qts, "{ 'lwp': true, 'lwp-rev': '1999' }");
    g_assert_true(qdict_haskey(answer, "error"));
    qobject_unref(answer);
    qtest_quit(qts);
}

static void test_statistics(void)
{
    QTestState *qts = qtest_init(MACHINE);
    QDict *answer, *entry;
    QList *stats;

    answer = qtest_qmp(qts, "{ 'execute': 'query-stats', 'arguments': "
                       "{ 'target': 'vcpu', 'providers': "
                       "[ { 'provider': 'lwp', 'names': [ 'records' ] } ] } }");
    stats = qdict_get_qlist(answer, "return");
    g_assert_cmpint(qlist_size(stats), ==, 1);
    entry = qobject_to(QDict, qlist_peek(stats));
    g_assert_cmpstr(qdict_get_str(entry, "provider"), ==, "lwp");
    stats = qdict_get_qlist(entry, "stats");
    g_assert_cmpint(qlist_size(stats), ==, 1);
    entry = qobject_to(QDict, qlist_peek(stats));
    g_assert_cmpstr(qdict_get_str(entry, "name"), ==, "records");
    g_assert_cmpint(qdict_get_int(entry, "value"), ==, 0);
    qobject_unref(answer);
    qtest_quit(qts);
}

static void wait_for_migration(QTestState *qts)
{
    bool done = false;

    while (!done) {
        QDict *answer = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        QDict *info = qdict_get_qdict(answer, "return");
        const char *status = qdict_get_try_str(info, "status");

        g_assert_cmpstr(status, !=, "failed");
        done = !g_strcmp0(status, "completed");
        qobject_unref(answer);
        g_usleep(1000);
    }
}

static void test_vmstate(void)
{
    g_autofree char *file = NULL, *to = NULL;
    QTestState *qts;
    int fd = g_file_open_tmp("lwp-test-XXXXXX", &file, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    to = g_strdup_printf("exec:cat > %s", file);
    qts = qtest_init(MACHINE "-m 64");
    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate', "
                             "'arguments': { 'uri': %s } }", to);
    wait_for_migration(qts);
    qtest_quit(qts);

    qts = qtest_initf(MACHINE "-m 64 -incoming 'exec:cat %s'", file);
    wait_for_migration(qts);
    assert_property(qts, "x-lwp-state", "off");
    qtest_quit(qts);
    unlink(file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (qtest_has_accel("tcg") && qtest_has_machine("q35")) {
        qtest_add_func("/lwp/properties", test_properties);
        qtest_add_func("/lwp/cpuid", test_cpuid);
        qtest_add_func("/lwp/statistics", test_statistics);
        qtest_add_func("/lwp/vmstate", test_vmstate);
    }
    return g_test_run();
}
