output "site" {
  description = "The entry for linac's sites.yaml."
  value       = module.machines.site
}
