// SPDX-License-Identifier: GPL-2.0-only
/* init and exit, nothing else */
#include <linux/module.h>

#include "engine.h"

/*
 * The types and kfuncs go with the module's BTF; the device is last, so that
 * whoever can open it finds them.
 */
static int __init probekit_init(void)
{
	int err;

	probekit_calibrate();
	err = probekit_kfuncs_register();
	if (!err)
		err = probekit_struct_ops_register();
	if (!err)
		err = probekit_probe_watch_modules();
	if (err)
		return err;
	err = probekit_device_register();
	if (err)
		probekit_probe_unwatch_modules();
	return err;
}

static void __exit probekit_exit(void)
{
	probekit_device_unregister();
	probekit_probe_unwatch_modules();
}

module_init(probekit_init);
module_exit(probekit_exit);

MODULE_DESCRIPTION("probekit: probes with BPF handlers and entry data");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
